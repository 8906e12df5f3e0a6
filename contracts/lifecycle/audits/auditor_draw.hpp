// SPDX-License-Identifier: MIT
// The draw of an audit's auditors: the queue for it, and audits of the same segment in other runs. SPEC 14.2.
#pragma once

#include "contracts/lifecycle/isolate.hpp"

namespace retrace::contracts {

/// Starts the drawing phase. Called when the segment's start is open, and the masks over its message are shown: at height
/// `shown`, or before the start was opened.
void enter_drawing(Effects& fx, market::Audit& audit, std::uint64_t shown = 0);
/// Draws the auditors of the audit, or replacements for silent ones, with the newest beacon.
void draw_auditors_of(Effects& fx, std::uint64_t audit);
/// Puts an audit that needs auditors at the end of the queue.
void queue_audit(Effects& fx, const market::Audit& audit);
/// Draws auditors for the queued audits in order, at the first block of an epoch after everything else that is due.
void draw_queued(Effects& fx, const BrokenInvariantHandler& on_broken);

/// 14.12.13: whether auditors have committed to verdicts on the same segment of another run, with which this run's end
/// will be compared.
bool is_audited_in_replica(const Effects& fx, const market::Audit& audit);
/// Whether the same segment of another run was audited, or was not drawn there at all. It matters only for an audit
/// whose auditors were drawn and stayed silent.
bool is_decided_in_replica(const Effects& fx, const market::Audit& audit);
/// Whether an audit of the same segment in another run moves on by itself, so that a reveal that waits for it will
/// come.
bool waits_for_moving_audit(const Effects& fx, const market::Audit& audit);
/// Schedules a draw, past the queue, for audits of the same segment in other runs: this audit's solver may not reveal
/// its end before they have auditors.
void expedite_replica_audits(Effects& fx, const market::Audit& audit);

}  // namespace retrace::contracts
