// SPDX-License-Identifier: MIT
// Audits for which nobody can be drawn, of tasks that are not paid unaudited. SPEC 14.12.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Nobody can be drawn for the audit, or all who were said nothing. It waits, and what the run opens waits with it.
void wait_for_auditors(Effects& fx, market::Audit& audit);
/// The audit has verdicts, or is closed: it holds nothing up any more.
void end_wait_for_auditors(Effects& fx, const market::Audit& audit);
/// A beacon later: audits that wait are drawn when there are members for them, or are decided on.
void look_for_auditors(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.12.4: what waits counts as not drawn.
void pay_for_unaudited(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.12.5: the run ends, paid for what is final.
void end_unpaid(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
