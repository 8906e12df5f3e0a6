// SPDX-License-Identifier: MIT
// Reports of tiles that are not served. SPEC 16.
#pragma once

#include <optional>

#include "contracts/calls/calls.hpp"
#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// The open reports of one kind about the same state, program or data set of a run. 16.1.19
struct ReportsAbout {
    std::uint64_t open = 0;
    std::vector<Address> busy;   ///< Parties with the work of an answer, solver or keepers, that have not answered yet,
    std::vector<Address> ready;  ///< and parties that have done that work.
    static auto tie(auto& r) { return std::tie(r.open, r.busy, r.ready); }
};
keys::Key reports_about(const market::Report& report);

/// Returns the party's seat in the audit if it owes a verdict there; else nullptr.
market::Seat* owed_seat(market::Audit& audit, const Address& party);
/// Returns the open audits of this run in which the party owes a verdict that needs the reported tile.
std::vector<market::Audit> owed_audits(const StateView& view, const ReportUnavailable& call, const Address& party);
/// Returns the open disputes about this run in which the party is the challenger and needs what is reported.
std::vector<market::Dispute> own_disputes(const StateView& view, const ReportUnavailable& call, const Address& party);

/// The reports of one party about a run that await an answer: about one state, or about program and data, which every
/// segment needs. 16.1.13
struct Awaited {
    std::uint64_t open = 0;
    std::uint64_t until = 0;  ///< Height at which the last of the answers is due.
    static auto tie(auto& a) { return std::tie(a.open, a.until); }
};
void await_answer(Effects& fx, const market::Report& report);
/// Returns the height by which the answers that the auditor needs in this audit are due; nullopt if it waits for none.
std::optional<std::uint64_t> answers_awaited(const StateView& view, const market::Audit& audit, const Address& auditor);
/// The same for any case of the reporter about this segment.
std::optional<std::uint64_t> answers_awaited(const StateView& view, std::uint64_t task, std::uint32_t run,
                                             std::uint64_t segment, const Address& reporter);

/// Handles a missed answer: the solver loses its run (keepers lose a bond each), and the reporter gets its fee back.
void report_deadline(Effects& fx, std::uint64_t report);
/// Closes a report: the fee goes to the party that answered, or back to the reporter.
void close_report(Effects& fx, std::uint64_t report, const std::optional<Address>& answered_by);
/// Fails the reports about a run that is over, except those to keepers.
void close_reports(Effects& fx, std::uint64_t task, std::uint32_t run);
/// Closes the reports of a task that is over, those to keepers included, without penalties. 16.3.4
void close_all_reports(Effects& fx, std::uint64_t task);

/// 16.1.13, 16.4: called when a report was answered, or a report to keepers failed. Continues what waited for the
/// answer: auditors have the usual time from now on; the clock of a challenger and the deadlines of a successor have
/// waited until now.
void resume_after_answer(Effects& fx, const market::Report& report);

}  // namespace retrace::contracts
