// SPDX-License-Identifier: MIT
// Phases of an audit from the opening to the verdict. SPEC 14.
#pragma once

#include "contracts/lifecycle/audits/seats.hpp"

namespace retrace::contracts {

/// 14.10: the most redraws of an audit while disputes are open. After them the audit only waits for the disputes to
/// end.
inline constexpr std::uint64_t kRedrawsMax = 256;
/// Stores the audit in its new phase and schedules the deadline.
void set_phase(Effects& fx, market::Audit& audit, market::AuditPhase phase, std::uint64_t deadline);
/// Handles the deadline of the current phase, if it has passed.
void audit_deadline(Effects& fx, std::uint64_t audit);

void enter_opening(Effects& fx, market::Audit& audit);
/// Starts the collecting phase, or continues it: the deadline for verdicts is recomputed (16.1.13).
void enter_collecting(Effects& fx, market::Audit& audit);
/// Called when a report of the auditor was answered. When none of its reports delays the audit any more, its replay
/// takes a new place in its order of work (16.1.13).
void take_seat_up_again(Effects& fx, market::Audit& audit, const Address& auditor);
/// Continues an audit without its silent auditors: draws others, or goes on with those that committed. `last` is the
/// result of the previous draw, if that is why seats are still empty.
void continue_without_silent(Effects& fx, market::Audit& audit, DrawResult last = DrawResult::found);
/// Ends the collecting phase; continues with the verdicts when the end is open already. A held audit, which has no
/// seats, goes on after the end is open (14.13.1).
void enter_revealing(Effects& fx, market::Audit& audit);
/// Starts the deadline of the reveal, which has become legal.
void start_reveal_deadline(Effects& fx, market::Audit& audit);
void enter_verdicts(Effects& fx, market::Audit& audit);
/// Finishes the audit: all verdicts are revealed or can no longer be.
void finish_audit(Effects& fx, market::Audit& audit);
/// Closes an audit that has no verdict and will get none: the segment stays open to challenges only.
void close_without_verdict(Effects& fx, market::Audit& audit);
/// Releases an audit whose run is over: bonds are returned, and auditors that have committed are paid.
void release_audit(Effects& fx, std::uint64_t audit);
/// Starts another audit round for a segment whose audit ended without a match and without an open dispute; after the
/// last round the segment counts as not drawn, or waits for auditors (14.12.14).
void settle_unmatched(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);

}  // namespace retrace::contracts
