// SPDX-License-Identifier: MIT
#include "contracts/audits/reports.hpp"

#include "contracts/market/runs.hpp"

namespace retrace::contracts {

void report_deadline(Effects& fx, std::uint64_t id) {
    const auto report = must_load<market::Report>(fx.state, keys::report(id));
    if (report.state != market::ReportState::open) return;
    close_report(fx, id, false);
    lose_silent_run(fx, report.task, report.run, SlashReason::not_served);
}

void close_report(Effects& fx, std::uint64_t id, bool answered) {
    auto report = must_load<market::Report>(fx.state, keys::report(id));
    const auto run = must_load<market::Run>(fx.state, keys::run(report.task, report.run));
    report.state = answered ? market::ReportState::answered : market::ReportState::failed;
    store(fx.state, keys::report(id), report);
    remove_from_list(fx.state, keys::open_reports(report.task), id);
    pay(fx, Contract::audits, answered ? run.solver : report.reporter, report.fee);
    fx.emit(ReportClosed{id, report.task, answered});
}

void close_reports(Effects& fx, std::uint64_t task, std::uint32_t run) {
    for (const std::uint64_t id : views::open_reports(fx.state, task))
        if (must_load<market::Report>(fx.state, keys::report(id)).run == run) close_report(fx, id, false);
}

}  // namespace retrace::contracts
