// SPDX-License-Identifier: MIT
// Members of a group: their segments, pay and end. SPEC 21.5 to 21.10.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/group_views.hpp"
#include "merkle/base/result.hpp"

namespace retrace::contracts {

/// 21.5.19: the base at which the member's next segment begins, if it has this base and so many inner steps.
std::uint32_t begin_of_segment(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint32_t base,
                               std::uint32_t steps);
/// Returns what the member's next segment takes in, with inner steps up to a base that is above its last one (or equal,
/// if it is its first). Errors: too many messages, positions that are none or too many.
Result<market::MemberSegment, CallStatus> next_segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                       std::uint32_t base, std::uint32_t steps);
/// 21.9: all rounds are closed. A member that the last of them left nothing to take in has finished.
void note_rounds_over(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Whether the run may send messages: it has its first state and does not leave. Group::senders counts these.
bool is_sender(const StateView& view, const market::Run& run);
/// Stores the record of a new member, which begins at a base with the shared tensors `anchor`, or with `init`.
void begin_member(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint32_t base, std::vector<Hash32> anchor);
/// Called when a member has committed to its first state: from now on it may send messages.
void note_first_state(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 21.10: the member commits nothing more.
void begin_leaving(Effects& fx, std::uint64_t task, std::uint32_t run, bool absent);
/// Called before a run ends: a group counts it no more among its senders. Does nothing for other tasks.
void note_member_gone(Effects& fx, const market::Run& run);

/// 21.8: notes which shared tensors a member has at the end of a segment with this base.
void note_shared(Effects& fx, std::uint64_t task, const views::SharedOpening& opening, std::uint32_t base);
/// 21.8: whether the segment, whose end is open, may be finalised for what the group knows: the round of its message is
/// closed, and nobody that took in the same records has other shared tensors, or an audit has decided.
bool is_settled_in_group(const StateView& view, const market::Run& run, std::uint64_t segment);
/// 21.8: whether another member has opened other shared tensors at the base of the segment, whose end is open, and none
/// has been found right.
bool is_contradicted(const StateView& view, const market::Run& run, std::uint64_t segment);
/// 21.8: gives an audit to the member's first segment that is not finalised, if its shared tensors are contradicted and
/// no audit decides on them yet.
void audit_contradiction(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 21.8: called when an audit or a draw has decided on a segment: members with equal shared tensors may have waited for
/// it. Does nothing for other tasks.
void wake_members(Effects& fx, std::uint64_t task);
/// 21.10.21: blocks for which a member may be away without a loss: absence_limit rounds.
std::uint64_t absence_blocks(const market::GroupSpec& terms);
/// 13.9, 14.5 and 21.10.21: the height up to which a state may be opened that can be opened from now on.
std::uint64_t opening_deadline(const Effects& fx, std::uint64_t task);
/// 21.14.11: called before the member opens a state. Counts the time for which the group has waited for it.
void count_late_opening(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index);
/// 21.8: segments of the run from `before` on have become final. Wakes the members that waited for that, because others
/// had opened other shared tensors with the same base.
void note_finalised(Effects& fx, const market::Run& run, std::uint64_t before);
/// 21.9: what the member has earned with segments from `from` to `end` - 1.
U256 earned_in_group(const StateView& view, const market::Run& run, std::uint64_t from, std::uint64_t end);
/// 21.9.1: the end of the finalised segments that are paid: all, or those before the message of the last round.
/// `ends_unaudited`: the run ends because it waited for auditors (14.12.5).
std::uint64_t payable_in_group(const StateView& view, const market::Run& run, bool ends_unaudited = false);
/// Whether it has committed to a state with all records, and is not leaving.
bool has_taken_in_all(const StateView& view, const market::Run& run);
/// Whether all segments of the member are finalised, and the last of them has taken in all records.
bool has_finished(const StateView& view, const market::Run& run);
/// Whether the member leaves, all of its segments are finalised, and no complaint about its shares may come (21.11.8).
bool has_left(const StateView& view, const market::Run& run);

}  // namespace retrace::contracts
