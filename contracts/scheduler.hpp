// SPDX-License-Identifier: MIT
// What happens by itself. SPEC 9.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// The beacon first; then what is due at this height or still waits from earlier ones, in order of these
/// heights and then as it was written, at most kDueMax items; then the draws of auditors. What breaks an
/// invariant is undone and its task frozen (8.4).
void run_scheduler(Effects& fx, const BrokenInvariantHandler& on_broken);

}  // namespace retrace::contracts
