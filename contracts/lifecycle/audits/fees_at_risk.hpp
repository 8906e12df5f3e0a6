// SPDX-License-Identifier: MIT
// Limits the fees of auditors of segments that a run may never be paid for. SPEC 14.13.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Called when a segment of the run is drawn for its first audit.
void count_audited(Effects& fx, const market::Run& run, std::uint64_t segment);
/// Whether the segment that is audited was drawn so, and not because of a contradiction (21.8.9).
bool is_counted(const StateView& view, const market::Audit& audit);
/// Called when an audited segment of the run becomes finalised.
void count_finalised_audit(Effects& fx, const market::Run& run, std::uint64_t segment);

/// Whether auditors may be drawn: the lock of the audit's run covers its fees. Once true, it stays true.
bool are_fees_covered(const Effects& fx, const market::Audit& audit);
/// Keeps an audit without seats until its fees are covered. It may leave the drawing phase at once, when another run
/// waits for it (14.13.1).
void hold_audit(Effects& fx, const market::Audit& audit);
/// Whether the audit waits until its fees are covered.
bool is_held(const StateView& view, const market::Audit& audit);
/// Puts the held audits of the run whose fees are covered now into the queue. Called when segments were finalised.
void release_held_audits(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
