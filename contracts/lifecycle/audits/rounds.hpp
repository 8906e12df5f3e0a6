// SPDX-License-Identifier: MIT
// Audits from the draw to the verdict. SPEC 14.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// 14.10: how often auditors are drawn again beside disputes. After that an audit only waits for these to end.
inline constexpr std::uint64_t kRedrawsMax = 256;
/// Decides with the newest beacon whether a segment is audited.
void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// The beacon is there that decides who audits, or who replaces silent auditors.
void draw_auditors_of(Effects& fx, std::uint64_t audit);
/// At the first block of an epoch, after what else is due: audits that wait for auditors get them, in order.
void draw_queued(Effects& fx, const BrokenInvariantHandler& on_broken);
/// The phase's deadline may have passed.
void audit_deadline(Effects& fx, std::uint64_t audit);

void enter_opening(Effects& fx, market::Audit& audit);
void enter_drawing(Effects& fx, market::Audit& audit);     ///< The start of the segment is open.
/// 14.12.13: auditors have committed to the same segment of another run, which this one's end will be compared with.
bool is_audited_beside(const Effects& fx, const market::Audit& audit);
/// Or it was not drawn there. Counts only where members were drawn for this audit and said nothing.
bool is_decided_beside(const Effects& fx, const market::Audit& audit);
/// The audit's solver may not reveal before the replicas' audits of the segment have auditors: they wait no longer.
void hurry_audits_beside(Effects& fx, const market::Audit& audit);
/// Or goes on with it: by when verdicts are due is counted anew (16.1.13).
void enter_collecting(Effects& fx, market::Audit& audit);
/// What the auditor reported was shown: when no report of it holds the audit up any more, its replay takes a new place
/// in its order of work (16.1.13).
void take_seat_up_again(Effects& fx, market::Audit& audit, const Address& auditor);
/// From collecting; goes on to verdicts when the end is open already.
void enter_revealing(Effects& fx, market::Audit& audit);
/// The reveal has become legal: its deadline starts.
void start_reveal_deadline(Effects& fx, market::Audit& audit);
void enter_verdicts(Effects& fx, market::Audit& audit);
/// All verdicts are there, or never will be.
void finish_audit(Effects& fx, market::Audit& audit);
/// The run is over: bonds go back, and who has committed is paid.
void release_audit(Effects& fx, std::uint64_t audit);
/// A segment whose audit ended without a match and without an open dispute: another round, or unaudited.
void settle_unmatched(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);

}  // namespace retrace::contracts
