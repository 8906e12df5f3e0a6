// SPDX-License-Identifier: MIT
// Reports of tiles that are not served. SPEC 16.
#pragma once

#include <optional>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Open reports of one kind about one state, program or data set of a run. 16.1.19
struct ReportsAbout {
    std::uint64_t open = 0;
    std::vector<Address> busy;   ///< Who has the work of an answer: the solver, or the keepers. None once one is there.
    static auto tie(auto& r) { return std::tie(r.open, r.busy); }
};
keys::Key reports_about(const market::Report& report);

/// What one party reported of a run and waits for: of a state, or of program and data, which any segment needs. 16.1.13
struct Awaited {
    std::uint64_t open = 0;
    std::uint64_t until = 0;     ///< By when the last of the answers is due.
    static auto tie(auto& a) { return std::tie(a.open, a.until); }
};
void await_answer(Effects& fx, const market::Report& report);
/// By when the auditor is answered what it needs in this audit; none if it waits for nothing.
std::optional<std::uint64_t> answers_awaited(const StateView& view, const market::Audit& audit, const Address& auditor);

/// The answer is late: the solver loses its run (the keepers a bond each), the reporter gets its fee back.
void report_deadline(Effects& fx, std::uint64_t report);
/// Closes a report: the fee goes to who answered, or back to the reporter.
void close_report(Effects& fx, std::uint64_t report, const std::optional<Address>& answered_by);
/// The run is over: its reports fail.
void close_reports(Effects& fx, std::uint64_t task, std::uint32_t run);
/// The task is released: all of its reports end, those to keepers too, and nobody is punished.
void close_all_reports(Effects& fx, std::uint64_t task);

/// 16.1.13: the audit waited for this answer; its auditors have the usual time from now on.
void resume_audit(Effects& fx, const market::Report& report);

}  // namespace retrace::contracts
