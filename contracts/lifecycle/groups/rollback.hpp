// SPDX-License-Identifier: MIT
// Rollbacks of a group whose terms have them. SPEC 21.14. Of other tasks these functions do nothing.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// 21.14.7: called before a run loses its lock: pays the requester from it what the segments of others cost that its end
/// undoes. The run's record is changed.
void repay_undone(Effects& fx, std::uint64_t task, std::uint32_t run, SlashReason reason);
/// 21.14.4: called when a run has ended with a loss: notes the rollback if recorded messages of it were not final, and ends
/// the open round.
void roll_back(Effects& fx, std::uint64_t task, std::uint32_t run);

/// 21.14.5: notes the attempt of a segment that is committed to now.
void note_attempt(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);

}  // namespace retrace::contracts
