// SPDX-License-Identifier: MIT
// Offers of a fee for keeping a state. SPEC 14.9 and 14.11.
#pragma once

#include <optional>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Returns the open offer for a state, if there is one.
std::optional<market::Retention> open_retention(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index);
/// Takes the offer off all lists; its record stays.
void close_retention(Effects& fx, market::Retention& offer, market::RetentionState state);
/// Refunds the open offers for states of the run up to `last` that no keeper took: no successor will start there.
void return_retentions(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t last);

}  // namespace retrace::contracts
