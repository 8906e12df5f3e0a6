// SPDX-License-Identifier: MIT
// SPEC 16.1. Whoever needs a tile that the solver does not serve makes it answer on the ledger.
#include "contracts/audits/reports.hpp"
#include "contracts/audits/rules.hpp"
#include "contracts/audits/seats.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

constexpr std::size_t kTaskReportsMax = 64;

/// The open audit of this run in which the party owes a verdict: of the segment that starts at `state`, or of any.
std::optional<market::Audit> owed_audit(const StateView& view, const market::Run& run, const Address& party,
                                        std::optional<std::uint64_t> state) {
    for (const std::uint64_t id : views::open_audits(view, party)) {
        const auto audit = must_load<market::Audit>(view, keys::audit(id));
        if (audit.task != run.task || audit.run != run.index || (state && audit.segment != *state)) continue;
        if (audit.phase != market::AuditPhase::collecting) continue;
        for (const market::Seat& seat : audit.seats)
            if (seat.auditor == party && seat.state == market::SeatState::drawn) return audit;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> start_of(const ReportUnavailable& call) {
    if (static_cast<ReportKind>(call.kind) == ReportKind::state) return call.index;
    return std::nullopt;
}

Verdict admit_model(const ReportUnavailable& call, const TxContext& context, const StateView& view,
                    const market::Run& run, const TaskSpec& spec) {
    const auto task = must_load<market::Task>(view, keys::task(call.task));
    if (task.requester != context.sender) return Verdict::not_requester;                            // 16.1.5
    if (run.state != market::RunState::delivering || task.state != market::TaskState::delivering)
        return Verdict::wrong_run_state;                                                            // 16.1.6
    if (call.index != spec.segments()) return Verdict::nothing_to_report;                           // 16.1.7
    if (context.height + context.params.answer_blocks > task.deliver_end) return Verdict::too_late; // 16.1.8
    return Verdict::ok;
}

Verdict admit_auditor(const ReportUnavailable& call, const TxContext& context, const StateView& view,
                      const market::Run& run, const TaskSpec& spec) {
    if (run.state != market::RunState::running) return Verdict::wrong_run_state;                    // 16.1.9
    if (static_cast<ReportKind>(call.kind) == ReportKind::data && call.index >= spec.data_roots.size())
        return Verdict::nothing_to_report;                                                          // 16.1.10
    const auto audit = owed_audit(view, run, context.sender, start_of(call));
    if (!audit) return Verdict::not_auditor;                                                        // 16.1.11
    for (const market::Seat& seat : audit->seats)
        if (seat.auditor == context.sender && seat.reports >= context.params.reports)
            return Verdict::too_many_open;                                                          // 16.1.12
    return Verdict::ok;
}

}  // namespace

Verdict check(const ReportUnavailable& call) {
    if (call.kind == 0 || call.kind > static_cast<std::uint8_t>(last_of(ReportKind{})))
        return Verdict::bad_kind;                                                                   // 16.1.1
    return Verdict::ok;
}

Verdict admit(const ReportUnavailable& call, const TxContext& context, const StateView& view) {
    if (!views::task(view, call.task)) return Verdict::unknown_task;                                // 16.1.2
    const auto run = views::run(view, call.task, call.run);
    if (!run) return Verdict::unknown_run;                                                          // 16.1.3
    if (context.value != context.params.report_fee) return Verdict::wrong_value;                    // 16.1.4
    if (views::open_reports(view, call.task).size() >= kTaskReportsMax) return Verdict::too_many_open;
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    return static_cast<ReportKind>(call.kind) == ReportKind::model ? admit_model(call, context, view, *run, spec)
                                                                   : admit_auditor(call, context, view, *run, spec);
}

void apply(const ReportUnavailable& call, const TxContext& context, Effects& fx) {
    market::Report report;
    report.id = next_id(fx.state, keys::report_count());
    report.kind = static_cast<ReportKind>(call.kind);
    report.state = market::ReportState::open;
    report.reporter = context.sender;
    report.task = call.task;
    report.run = call.run;
    report.index = call.index;
    report.tensor = call.tensor;
    report.tile = call.tile;
    report.deadline = fx.height + fx.params.answer_blocks;
    report.fee = context.value;
    store(fx.state, keys::report(report.id), report);
    add_to_list(fx.state, keys::open_reports(call.task), report.id);
    schedule(fx, report.deadline + 1, {DueKind::report_deadline, report.id, 0, 0});
    fx.emit(ReportOpened{report.id, report.task, call.kind, report.run, report.index, report.tensor, report.tile,
                         report.deadline});
    if (report.kind == ReportKind::model) return;
    // 16.1.13: the auditor's own deadline waits for the answer.
    const auto run = must_load<market::Run>(fx.state, keys::run(call.task, call.run));
    auto audit = owed_audit(fx.state, run, context.sender, start_of(call)).value();
    for (market::Seat& seat : audit.seats)
        if (seat.auditor == context.sender) ++seat.reports;
    set_phase(fx, audit, audit.phase, audit.deadline + fx.params.answer_blocks);
}

}  // namespace retrace::contracts
