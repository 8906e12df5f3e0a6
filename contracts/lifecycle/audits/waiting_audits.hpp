// SPDX-License-Identifier: MIT
// Audits for which no auditors can be drawn, of tasks that do not allow unaudited segments. SPEC 14.12.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Makes the audit wait for auditors: none can be drawn, or all that were drawn stayed silent. The openings of the run
/// wait with it.
void wait_for_auditors(Effects& fx, market::Audit& audit);
/// Whether the run has waited so long that it ends beside windows that are held open and audits that may never end
/// (14.12.5).
bool waited_too_long(const market::Params& params, const market::Run& run, std::uint64_t height);
/// Ends the wait: the audit has verdicts or is closed, and no longer holds up its run.
void end_wait_for_auditors(Effects& fx, const market::Audit& audit);
/// Called at each later beacon: draws auditors for the waiting audits when there are enough members, or decides on
/// them.
void look_for_auditors(Effects& fx, std::uint64_t task, std::uint32_t run);
/// Whether the requester pays already for all segments of the run that wait.
bool all_paid_for(const StateView& view, std::uint64_t task, std::uint32_t run);
/// 14.12.4: records that the requester pays for the audits that wait now. The scheduler closes them, as not drawn, from
/// the next block on.
void pay_for_unaudited(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.12.5: ends the run, which is paid for its finalised segments.
void end_unpaid(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
