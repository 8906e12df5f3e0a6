// SPDX-License-Identifier: MIT
// What happens by itself. SPEC 9.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

/// Everything that is due at this height: the beacon first, then the agenda in the order it was written, then the
/// draws of auditors.
void run_agenda(Effects& fx);

}  // namespace retrace::contracts
