// SPDX-License-Identifier: MIT
// Price of a replica that joins a running task: others may open states before it gets there, and it is not paid for
// segments that it could have copied (contracts 12.7.9).
#pragma once

#include <optional>

#include "contracts/records/views.hpp"

namespace retrace::node {

/// Returns the segment price in the raise of a running task at which a replica earns `price` for each segment that it
/// computes, although it is paid only for those beyond what the others will have committed when the auction ends.
/// Returns nothing where no paid segment is left.
std::optional<ledger::U256> price_of_raise(const ledger::StateView& state, const market::Task& task,
                                           std::uint64_t segments, const ledger::U256& price);

/// Whether a won run earns `price` for each segment that it computes if the segments that others have committed are not
/// paid. Always true for a run that did not join a running task.
bool pays_for_all(const market::Run& run, std::uint64_t segments, const ledger::U256& price);

}  // namespace retrace::node
