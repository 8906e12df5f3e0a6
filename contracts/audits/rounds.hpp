// SPDX-License-Identifier: MIT
// Audits from the draw to the verdict. SPEC 14.
#pragma once

#include "contracts/effects.hpp"

namespace retrace::contracts {

/// Decides with the newest beacon whether a segment is audited.
void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment);
/// The beacon is there that decides who audits, or who replaces silent auditors.
void draw_auditors_of(Effects& fx, std::uint64_t audit);
/// At the first block of an epoch, after what else is due: audits that wait for auditors get them, in order.
void draw_queued(Effects& fx);
/// The phase's deadline has passed (`deadline` tells a stale reminder).
void audit_deadline(Effects& fx, std::uint64_t audit, std::uint64_t deadline);

void enter_opening(Effects& fx, market::Audit& audit);
void enter_drawing(Effects& fx, market::Audit& audit);     ///< The start of the segment is open.
/// The audit's solver may not reveal before the replicas' audits of the segment have auditors: they wait no longer.
void hurry_audits_beside(Effects& fx, const market::Audit& audit);
void enter_collecting(Effects& fx, market::Audit& audit);  ///< Or goes on with it: verdicts are due anew (16.1.13).
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
