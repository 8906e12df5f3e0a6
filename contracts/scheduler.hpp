// SPDX-License-Identifier: MIT
// The scheduler of the contracts. SPEC 9.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// Handles, in this order: the beacon; items that are due at this height or still wait from earlier ones, by height and
/// then in the order of writing, at most kDueMax; the draws of auditors. The effects of an item that breaks an
/// invariant are undone and its task is frozen (8.4).
void run_scheduler(Effects& fx, const BrokenInvariantHandler& on_broken);

/// Returns the tasks whose auction ends at block `height` (their `reveal_end`). `view`: the state of the block before,
/// or an earlier one in which they are open. They close later than that if too many items are due (9.2).
std::vector<std::uint64_t> ending_auctions(const StateView& view, std::uint64_t height);

}  // namespace retrace::contracts
