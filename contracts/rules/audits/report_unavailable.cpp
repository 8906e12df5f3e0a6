// SPDX-License-Identifier: MIT
// SPEC 16.1. A party that needs a tile which is not served makes the party that has it answer on the ledger.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

/// Limits beyond which a reporter is refused (16.1.12): on the requester's own open reports of a model, and on all open
/// reports of the task. Auditors are bounded by their seats and not refused because of other parties' reports: the last
/// limit is only the capacity of a list.
constexpr std::size_t kModelReportsMax = 64, kOtherReportsMax = 2048, kReportsMax = market::kRecordListMax;

ReportKind kind_of(const ReportUnavailable& call) { return static_cast<ReportKind>(call.kind); }

/// 16.1.17: it is the challenger's move, and its clock has run out.
bool clock_has_run_out(const market::Dispute& dispute, std::uint64_t height) {
    return dispute.mover == static_cast<std::uint8_t>(verifier::Side::challenger) && height > dispute.deadline;
}

CallStatus admit_model(const ReportUnavailable& call, const TxContext& context, const StateView& view,
                       const market::Run& run, const TaskSpec& spec) {
    const auto task = must_load<market::Task>(view, keys::task(call.task));
    if (task.requester != context.sender) return CallStatus::not_requester;  // 16.1.5
    if (run.state != market::RunState::delivering || task.state != market::TaskState::delivering)
        return CallStatus::wrong_run_state;  // 16.1.6
    const std::uint64_t last = views::is_group(view, call.task) ? run.next_state - 1 : spec.segments();
    if (call.index != last) return CallStatus::nothing_to_report;                                       // 16.1.7
    if (context.height + context.params.answer_blocks > task.deliver_end) return CallStatus::too_late;  // 16.1.8
    return CallStatus::ok;
}

/// Admits a report to the keepers of the state from which the sender's run of the task starts.
CallStatus admit_kept(const ReportUnavailable& call, const TxContext& context, const StateView& view) {
    const auto own = run_of_solver(view, call.task, context.sender);
    if (!own) return CallStatus::not_solver;  // 16.1.14
    const bool starting = (own->state == market::RunState::assigned || own->state == market::RunState::running) &&
                          own->next_state == own->first_state;
    if (!starting) return CallStatus::wrong_run_state;  // 16.1.15
    const auto kept = views::checkpoint(view, call.task, call.run, call.index);
    if (call.index == 0 || call.index != own->first_state || !kept || kept->root != own->first_root ||
        kept->keepers.empty())
        return CallStatus::nothing_to_report;                                                      // 16.1.16
    if (context.height > moved_deadline(view, context.params, *own)) return CallStatus::too_late;  // 16.1.17
    return own->reports < context.params.reports ? CallStatus::ok : CallStatus::too_many_open;     // 16.1.12
}

/// 16.1.21: whether the run takes in the reported message, and the message has the tensor.
bool has_message(const StateView& view, const ReportUnavailable& call) {
    const market::ReportedMessage reported = market::reported_message(call.index);
    if (!views::is_group(view, call.task) || reported.round > market::kRoundsMax) return false;
    // With rollbacks 16.1.11 says the same: the case is about a segment that takes it in.
    const bool ascending = views::group_spec(view, call.task)->rollbacks == 0;
    if (ascending && !views::segment_taking_in(view, call.task, call.run, reported.round)) return false;
    const auto round = static_cast<std::uint32_t>(reported.round);
    const auto message = views::round_message(view, call.task, round, reported.author);
    return message && message->recorded && call.tensor < message->tensors.size();
}

CallStatus admit_checker(const ReportUnavailable& call, const TxContext& context, const StateView& view,
                         const market::Run& run, const TaskSpec& spec, std::size_t open) {
    if (run.state != market::RunState::running) return CallStatus::wrong_run_state;  // 16.1.9
    if (kind_of(call) == ReportKind::data && call.index >= spec.data_roots.size())
        return CallStatus::nothing_to_report;  // 16.1.10
    if (kind_of(call) == ReportKind::message && !has_message(view, call))
        return CallStatus::nothing_to_report;  // 16.1.21
    auto audits = owed_audits(view, call, context.sender);
    const auto disputes = own_disputes(view, call, context.sender);
    if (audits.empty() && disputes.empty()) return CallStatus::not_auditor;  // 16.1.11
    const bool audit_left = std::any_of(audits.begin(), audits.end(), [&](market::Audit& audit) {
        return owed_seat(audit, context.sender)->reports < context.params.reports;
    });
    if (audit_left && open < kReportsMax) return CallStatus::ok;
    if (disputes.empty() || open >= kOtherReportsMax) return CallStatus::too_many_open;  // 16.1.12
    std::size_t late = 0, left = 0;
    for (const market::Dispute& dispute : disputes) {
        if (clock_has_run_out(dispute, context.height))
            ++late;
        else if (dispute.reports < context.params.reports)
            ++left;
    }
    if (audits.empty() && late == disputes.size()) return CallStatus::too_late;  // 16.1.17
    return left != 0 ? CallStatus::ok : CallStatus::too_many_open;               // 16.1.12
}

/// Blocks by which a wait until `until` extends one that lasts until `before`: several answers are waited for at once.
std::uint64_t extension(const Effects& fx, std::uint64_t until, std::uint64_t before) {
    return until - std::min(until, std::max(fx.height, before));
}

/// 16.1.13: extends the deadlines of a successor that waits for its first state. The scheduled item of the deadline
/// checks it again.
void wait_for_state(Effects& fx, market::Run own, std::uint64_t until) {
    count_work(fx, own);
    ++own.reports;
    ++own.open_reports;
    const std::uint64_t blocks = extension(fx, until, own.waits_until);
    if (own.deadline != 0) own.deadline += blocks;
    own.waited += blocks;
    own.waits_until = std::max(own.waits_until, until);
    own.finish_height += extension(fx, until, own.finish_waits_until);
    own.finish_waits_until = std::max(own.finish_waits_until, until);
    store(fx.state, keys::run(own.task, own.index), own);
}

/// 16.1.20: moves each of the reporter's cases that needs what is reported, and charges the report to one: the seat,
/// else the dispute, whose work comes first and that has reports left.
void wait_for_checker(const ReportUnavailable& call, const Address& reporter, std::uint64_t until, Effects& fx) {
    const std::uint64_t most = fx.params.reports;
    auto audits = owed_audits(fx.state, call, reporter);
    auto disputes = own_disputes(fx.state, call, reporter);
    std::erase_if(disputes, [&](const market::Dispute& dispute) { return clock_has_run_out(dispute, fx.height); });
    market::Seat* seat_charged = nullptr;
    for (market::Audit& audit : audits) {
        market::Seat* seat = owed_seat(audit, reporter);
        if (seat->reports < most && (seat_charged == nullptr || seat->due < seat_charged->due)) seat_charged = seat;
    }
    const market::Dispute* dispute_charged = nullptr;
    for (const market::Dispute& dispute : disputes)
        if (seat_charged == nullptr && dispute.reports < most &&
            (dispute_charged == nullptr || dispute.challenger_due < dispute_charged->challenger_due))
            dispute_charged = &dispute;
    for (market::Audit& audit : audits) {
        market::Seat* seat = owed_seat(audit, reporter);
        const bool charged = seat == seat_charged, moves = charged || seat->moves < most;
        if (charged) ++seat->reports;
        // Once the seat has moved `most` times, further answers do not move it, until it reports again itself.
        seat->moves = static_cast<std::uint32_t>(charged ? std::min<std::uint64_t>(seat->moves, most)
                                                         : std::min<std::uint64_t>(seat->moves + 1, most + 1));
        if (moves)
            enter_collecting(fx, audit);
        else
            store(fx.state, keys::audit(audit.id), audit);
    }
    for (const market::Dispute& dispute : disputes) {
        const bool charged = &dispute == dispute_charged;
        if (charged || dispute.moves < most) wait_for_tiles(fx, dispute.id, until, charged);
    }
}

/// 16.1.13 and 16.4: extends the reporter's own deadline, which has not passed (16.1.17), by the wait for the answer,
/// due `until`.
void wait_for_answer(const ReportUnavailable& call, const Address& reporter, std::uint64_t until, Effects& fx) {
    if (kind_of(call) == ReportKind::kept)
        return wait_for_state(fx, run_of_solver(fx.state, call.task, reporter).value(), until);
    wait_for_checker(call, reporter, until, fx);
}

/// Returns the parties that must answer the report: the run's solver, or the keepers of the state.
std::vector<Address> asked_by(const StateView& view, const market::Report& report) {
    if (report.kind != ReportKind::kept)
        return {must_load<market::Run>(view, keys::run(report.task, report.run)).solver};
    return must_load<market::Checkpoint>(view, keys::checkpoint(report.task, report.run, report.index)).keepers;
}

/// 16.1.19: returns the height at which an answer is due. The asked party first does its earlier work. A state is
/// loaded and hashed once for all reports about it that are open together; a program's records and the tiles of data
/// sets and messages are ready.
std::uint64_t answer_due(Effects& fx, const market::Report& report) {
    auto about = load<ReportsAbout>(fx.state, reports_about(report)).value_or(ReportsAbout{});
    const bool lies_ready =
        report.kind == ReportKind::program || report.kind == ReportKind::data || report.kind == ReportKind::message;
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(report.task));
    const auto is_among = [](const std::vector<Address>& parties, const Address& party) {
        return std::find(parties.begin(), parties.end(), party) != parties.end();
    };
    const std::uint64_t work = market::answer_work(spec);
    const auto give = report.kind == ReportKind::kept ? give_kept_work : give_work;
    std::uint64_t due = fx.height;
    for (const Address& party : asked_by(fx.state, report)) {
        const bool knows = lies_ready || is_among(about.busy, party) || is_among(about.ready, party);
        due = std::max(due, knows ? busy_until(fx.state, party, fx.height) : give(fx, party, work));
        if (!knows) about.busy.push_back(party);
    }
    ++about.open;
    store(fx.state, reports_about(report), about);
    return due + fx.params.answer_blocks;
}

}  // namespace

CallStatus check(const ReportUnavailable& call) {
    if (call.kind == 0 || call.kind > static_cast<std::uint8_t>(last_of(ReportKind{})))
        return CallStatus::bad_kind;  // 16.1.1
    return CallStatus::ok;
}

CallStatus admit(const ReportUnavailable& call, const TxContext& context, const StateView& view) {
    if (!views::task(view, call.task)) return CallStatus::unknown_task;  // 16.1.2
    const auto run = views::run(view, call.task, call.run);
    if (!run) return CallStatus::unknown_run;                                        // 16.1.3
    if (context.value != context.params.report_fee) return CallStatus::wrong_value;  // 16.1.4
    const std::size_t open = views::open_reports(view, call.task).size();            // 16.1.12
    if (kind_of(call) == ReportKind::kept)
        return open < kOtherReportsMax ? admit_kept(call, context, view) : CallStatus::too_many_open;
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (kind_of(call) == ReportKind::model) {
        const auto about = load<ReportsAbout>(view, keys::reports_about(call.task, call.run, call.kind, call.index));
        const bool room = open < kReportsMax && (!about || about->open < kModelReportsMax);
        return room ? admit_model(call, context, view, *run, spec) : CallStatus::too_many_open;
    }
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
