// SPDX-License-Identifier: MIT
// The clock of a group: its rounds, and the phases of each. SPEC 21.4, 21.6. Phases change at the beginning of blocks
// only.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/groups.hpp"

namespace retrace::contracts {

/// Called when the auction has assigned the seats: members accept, and commit to their first state.
void start_group(Effects& fx, std::uint64_t task, const U256& price);
/// Handles the clock's item: goes on to the next phase if this one is over.
void group_clock(Effects& fx, std::uint64_t task);
/// 21.6.8: the task has ended, in any phase: removes what only its open round needs. Does nothing for a task without a group.
void end_round_of_ended_group(Effects& fx, std::uint64_t task);
/// Called after a member's message, commitment or reveal was added to the open round. Stores the group; the phase may be
/// over at the next block, or sooner than it was.
void note_progress(Effects& fx, market::Group& group);
/// 21.14.4: ends the open round without a record, and goes on to the next.
void end_round_empty(Effects& fx, std::uint64_t task);

}  // namespace retrace::contracts
