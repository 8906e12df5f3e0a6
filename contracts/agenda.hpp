// SPDX-License-Identifier: MIT
// What happens by itself. SPEC 9.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

/// The beacon first; then what is due at this height or still waits from earlier ones, in order of these heights and
/// then as it was written, at most kDueMax items; then the draws of auditors.
void run_agenda(Effects& fx);

}  // namespace retrace::contracts
