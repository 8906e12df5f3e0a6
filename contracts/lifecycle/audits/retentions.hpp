// SPDX-License-Identifier: MIT
// Who keeps which state. SPEC 14.9 and 14.11.
#pragma once

#include <optional>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// The open offer for a state, if there is one.
std::optional<market::Retention> open_retention(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index);
/// Off all lists; the record stays.
void close_retention(Effects& fx, market::Retention& offer, market::RetentionState state);
/// The run is over: offers that nobody took go back.
void return_retentions(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
