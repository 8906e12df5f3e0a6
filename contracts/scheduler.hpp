// SPDX-License-Identifier: MIT
// The scheduler of the contracts. SPEC 9.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// Handles, in this order: the beacon; items that are due at this height or still wait from earlier ones, by height and
/// then in the order of writing, at most kDueMax; the draws of auditors. The effects of an item that breaks an
/// invariant are undone and its task is frozen (8.4).
void run_scheduler(Effects& fx, const BrokenInvariantHandler& on_broken);

}  // namespace retrace::contracts
