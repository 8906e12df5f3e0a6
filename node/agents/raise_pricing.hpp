// SPDX-License-Identifier: MIT
// What a replica that joins a running task asks for: others may open states before it gets there, and it is not paid
// for what it could have copied (contracts 12.7.9).
#pragma once

#include <optional>

#include "contracts/records/views.hpp"

namespace retrace::node {

/// The price of a segment in the raise of a running task, at which a replica earns `price` for each segment that it
/// computes though it is paid only for those beyond what the others will have committed when the auction ends. Nothing
/// where none is left.
std::optional<ledger::U256> price_of_raise(const ledger::StateView& state, const market::Task& task,
                                           std::uint64_t segments, const ledger::U256& price);

/// Whether a run that was won earns `price` for each segment that it computes, if nobody pays for those that others
/// have committed. A run that did not join a running task always does.
bool pays_for_all(const market::Run& run, std::uint64_t segments, const ledger::U256& price);

}  // namespace retrace::node
