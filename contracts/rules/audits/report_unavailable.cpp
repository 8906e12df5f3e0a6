// SPDX-License-Identifier: MIT
// SPEC 16.1. A party that needs a tile which is not served makes the party that has it answer on the ledger.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

/// Limits on the open reports of one task, beyond which a reporter is refused (16.1.12). Auditors are bounded by their
/// seats and not refused because of other parties' reports: the last limit is only the capacity of a list.
constexpr std::size_t kRequesterReportsMax = 64, kOtherReportsMax = 2048, kReportsMax = market::kRecordListMax;

ReportKind kind_of(const ReportUnavailable& call) { return static_cast<ReportKind>(call.kind); }

/// Whether the report concerns this segment: a state concerns the segment that starts there; program and data concern
/// every segment.
bool concerns(const ReportUnavailable& call, std::uint64_t segment) {
    return kind_of(call) != ReportKind::state || call.index == segment;
}

market::Seat* owed_seat(market::Audit& audit, const Address& party) {
    for (market::Seat& seat : audit.seats)
        if (seat.auditor == party && seat.state == market::SeatState::drawn) return &seat;
    return nullptr;
}

/// Returns the open audits of this run in which the party owes a verdict that needs the reported tile.
std::vector<market::Audit> owed_audits(const StateView& view, const ReportUnavailable& call, const Address& party) {
    std::vector<market::Audit> out;
    for (const std::uint64_t id : views::open_audits(view, party)) {
        auto audit = must_load<market::Audit>(view, keys::audit(id));
        if (audit.task != call.task || audit.run != call.run || !concerns(call, audit.segment)) continue;
        if (audit.phase == market::AuditPhase::collecting && owed_seat(audit, party)) out.push_back(std::move(audit));
    }
    return out;
}

/// Returns the open dispute about this run in which the party is the challenger.
std::optional<market::Dispute> own_dispute(const StateView& view, const ReportUnavailable& call, const Address& party) {
    for (const std::uint64_t id : list<std::uint64_t>(view, keys::accusations(call.task, call.run, party))) {
        const auto dispute = must_load<market::Dispute>(view, keys::dispute(id));
        if (concerns(call, dispute.segment)) return dispute;
    }
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

/// Admits a report to the keepers of the state from which the sender's run of the task starts.
Verdict admit_kept(const ReportUnavailable& call, const TxContext& context, const StateView& view) {
    const auto own = run_of_solver(view, call.task, context.sender);
    if (!own) return Verdict::not_solver;                                                           // 16.1.14
    const bool starting = (own->state == market::RunState::assigned || own->state == market::RunState::running) &&
                          own->next_state == own->first_state;
    if (!starting) return Verdict::wrong_run_state;                                                 // 16.1.15
    const auto kept = views::checkpoint(view, call.task, call.run, call.index);
    if (call.index == 0 || call.index != own->first_state || !kept || kept->root != own->first_root ||
        kept->keepers.empty())
        return Verdict::nothing_to_report;                                                          // 16.1.16
    if (context.height > moved_deadline(view, context.params, *own)) return Verdict::too_late;      // 16.1.17
    return own->reports < context.params.reports ? Verdict::ok : Verdict::too_many_open;            // 16.1.12
}

Verdict admit_checker(const ReportUnavailable& call, const TxContext& context, const StateView& view,
                      const market::Run& run, const TaskSpec& spec, std::size_t open) {
    if (run.state != market::RunState::running) return Verdict::wrong_run_state;                    // 16.1.9
    if (kind_of(call) == ReportKind::data && call.index >= spec.data_roots.size())
        return Verdict::nothing_to_report;                                                          // 16.1.10
    if (auto audits = owed_audits(view, call, context.sender); !audits.empty()) {
        const bool left = std::any_of(audits.begin(), audits.end(), [&](market::Audit& audit) {
            return owed_seat(audit, context.sender)->reports < context.params.reports;
        });
        return left && open < kReportsMax ? Verdict::ok : Verdict::too_many_open;                   // 16.1.12
    }
    const auto dispute = own_dispute(view, call, context.sender);
    if (!dispute) return Verdict::not_auditor;                                                      // 16.1.11
    if (open >= kOtherReportsMax) return Verdict::too_many_open;                                    // 16.1.12
    const bool challengers = dispute->mover == static_cast<std::uint8_t>(verifier::Side::challenger);
    if (challengers && context.height > dispute->deadline) return Verdict::too_late;                // 16.1.17
    return dispute->reports < context.params.reports ? Verdict::ok : Verdict::too_many_open;        // 16.1.12
}

/// 16.1.13: extends the deadline of a successor that waits for its first state. The deadline's scheduled item checks it
/// again.
void wait_for_state(Effects& fx, market::Run own, std::uint64_t until) {
    count_work(fx, own);
    ++own.reports;
    own.deadline += until - std::min(until, std::max(fx.height, own.waits_until));  // for several answers at once
    own.waits_until = std::max(own.waits_until, until);
    store(fx.state, keys::run(own.task, own.index), own);
}

/// 16.1.13 and 16.4: extends the reporter's own deadline, which has not passed (16.1.17), by the wait for the answer,
/// due `until`.
void wait_for_answer(const ReportUnavailable& call, const Address& reporter, std::uint64_t until, Effects& fx) {
    if (kind_of(call) == ReportKind::kept)
        return wait_for_state(fx, run_of_solver(fx.state, call.task, reporter).value(), until);
    auto audits = owed_audits(fx.state, call, reporter);
    if (audits.empty()) return wait_for_tiles(fx, own_dispute(fx.state, call, reporter)->id, until);
    for (market::Audit& audit : audits) {
        ++owed_seat(audit, reporter)->reports;
        enter_collecting(fx, audit);
    }
}

/// Returns the parties that must answer the report: the run's solver, or the keepers of the state.
std::vector<Address> asked_by(const StateView& view, const market::Report& report) {
    if (report.kind != ReportKind::kept)
        return {must_load<market::Run>(view, keys::run(report.task, report.run)).solver};
    return must_load<market::Checkpoint>(view, keys::checkpoint(report.task, report.run, report.index)).keepers;
}

/// 16.1.19: returns the height at which an answer is due. The asked party first does its earlier work. A state is
/// loaded and hashed once for all reports about it that are open together; a program's records and a data set's tiles
/// are ready.
std::uint64_t answer_due(Effects& fx, const market::Report& report) {
    auto about = load<ReportsAbout>(fx.state, reports_about(report)).value_or(ReportsAbout{});
    const bool ready = report.kind == ReportKind::program || report.kind == ReportKind::data || about.open != 0;
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(report.task));
    std::uint64_t due = fx.height;
    for (const Address& party : asked_by(fx.state, report)) {
        const std::uint64_t place = ready ? busy_until(fx.state, party, fx.height)
                                          : give_work(fx, party, market::answer_work(spec));
        if (!ready) about.busy.push_back(party);
        due = std::max(due, place);
    }
    ++about.open;
    store(fx.state, reports_about(report), about);
    return due + fx.params.answer_blocks;
}

}  // namespace

void resume_audit(Effects& fx, const market::Report& report) {
    if (report.kind == ReportKind::model || report.kind == ReportKind::kept) return;
    const ReportUnavailable call{static_cast<std::uint8_t>(report.kind), report.task, report.run, report.index,
                                 report.tensor, report.tile};
    // None: it was a challenger's, or the auditor has committed. A seat that was drawn meanwhile waited as well.
    for (market::Audit& audit : owed_audits(fx.state, call, report.reporter))
        take_seat_up_again(fx, audit, report.reporter);
}

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
    const std::size_t open = views::open_reports(view, call.task).size();                           // 16.1.12
    if (kind_of(call) == ReportKind::kept)
        return open < kOtherReportsMax ? admit_kept(call, context, view) : Verdict::too_many_open;
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (kind_of(call) == ReportKind::model)
        return open < kRequesterReportsMax ? admit_model(call, context, view, *run, spec) : Verdict::too_many_open;
    return admit_checker(call, context, view, *run, spec, open);
}

void apply(const ReportUnavailable& call, const TxContext& context, Effects& fx) {
    market::Report report;
    report.id = next_id(fx.state, keys::report_count());
    report.kind = kind_of(call);
    report.state = market::ReportState::open;
    report.reporter = context.sender;
    report.task = call.task;
    report.run = call.run;
    report.index = call.index;
    report.tensor = call.tensor;
    report.tile = call.tile;
    report.deadline = answer_due(fx, report);
    report.fee = context.value;
    store(fx.state, keys::report(report.id), report);
    await_answer(fx, report);
    add_to_list(fx.state, keys::open_reports(call.task), report.id);
    schedule(fx, report.deadline + 1, {ScheduledKind::report_deadline, report.id, 0, 0});
    fx.emit(ReportOpened{report.id, report.task, call.kind, report.run, report.index, report.tensor, report.tile,
                         report.deadline});
    if (report.kind != ReportKind::model) wait_for_answer(call, context.sender, report.deadline, fx);
}

}  // namespace retrace::contracts
