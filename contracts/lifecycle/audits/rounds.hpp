// SPDX-License-Identifier: MIT
// Audits from the draw to the verdict. SPEC 14.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// 14.10: the most redraws of an audit while disputes are open. After them the audit only waits for the disputes to
/// end.
inline constexpr std::uint64_t kRedrawsMax = 256;
/// Puts the segment before the draw of the next epoch's beacon, and counts it among the run's pending draws.
void await_draw(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, market::Segment& segment);
/// Decides, with the reveals of the epoch that the draw was due for (11.6), whether a segment is audited.
void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// Draws the auditors of the audit, or replacements for silent ones, with the newest beacon.
void draw_auditors_of(Effects& fx, std::uint64_t audit);
/// Puts an audit that needs auditors at the end of the queue.
void queue_audit(Effects& fx, const market::Audit& audit);
/// Draws auditors for the queued audits in order, at the first block of an epoch after everything else that is due.
void draw_queued(Effects& fx, const BrokenInvariantHandler& on_broken);
/// Handles the deadline of the current phase, if it has passed.
void audit_deadline(Effects& fx, std::uint64_t audit);

void enter_opening(Effects& fx, market::Audit& audit);
void enter_drawing(Effects& fx, market::Audit& audit);  ///< Called when the segment's start is open.
/// 14.12.13: whether auditors have committed to the same segment of another run, with which this run's end will be
/// compared.
bool is_audited_beside(const Effects& fx, const market::Audit& audit);
/// Whether the same segment of another run was audited, or was not drawn there at all. It matters only for an audit
/// whose auditors were drawn and stayed silent.
bool is_decided_beside(const Effects& fx, const market::Audit& audit);
/// Whether an audit of the same segment in another run moves on by itself, so that a reveal that waits for it will
/// come.
bool waits_for_moving_audit(const Effects& fx, const market::Audit& audit);
/// Schedules a draw, past the queue, for audits of the same segment in other runs: this audit's solver may not reveal
/// its end before they have auditors.
void hurry_audits_beside(Effects& fx, const market::Audit& audit);
/// Starts the collecting phase, or continues it: the deadline for verdicts is recomputed (16.1.13).
void enter_collecting(Effects& fx, market::Audit& audit);
/// Called when a report of the auditor was answered. When none of its reports delays the audit any more, its replay
/// takes a new place in its order of work (16.1.13).
void take_seat_up_again(Effects& fx, market::Audit& audit, const Address& auditor);
/// Ends the collecting phase; continues with the verdicts when the end is open already. A held audit, which has no
/// seats, goes on after the end is open (14.13.1).
void enter_revealing(Effects& fx, market::Audit& audit);
/// Starts the deadline of the reveal, which has become legal.
void start_reveal_deadline(Effects& fx, market::Audit& audit);
void enter_verdicts(Effects& fx, market::Audit& audit);
/// Finishes the audit: all verdicts are revealed or can no longer be.
void finish_audit(Effects& fx, market::Audit& audit);
/// Releases an audit whose run is over: bonds are returned, and auditors that have committed are paid.
void release_audit(Effects& fx, std::uint64_t audit);
/// Starts another audit round for a segment whose audit ended without a match and without an open dispute; after the
/// last round the segment counts as not drawn, or waits for auditors (14.12.14).
void settle_unmatched(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);

}  // namespace retrace::contracts
