// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/audits/reports.hpp"

#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

/// 16.3: penalises the keepers of a state that a successor needs and that none of them has. 16.3.3: a keeper that
/// attested after the report was not asked by it, and stays.
void penalise_keepers(Effects& fx, const market::Report& report) {
    if (market::is_final(must_load<market::Task>(fx.state, keys::task(report.task)).state)) return;
    const keys::Key key = keys::checkpoint(report.task, report.run, report.index);
    auto kept = must_load<market::Checkpoint>(fx.state, key);
    std::vector<Address> later;
    std::vector<std::uint64_t> later_since;
    for (std::size_t i = 0; i < kept.keepers.size(); ++i) {
        if (kept.kept_since[i] < report.id) {
            slash_available(fx, kept.keepers[i], report.task, fx.params.audit_bond, SlashReason::not_kept);
        } else {
            later.push_back(kept.keepers[i]);
            later_since.push_back(kept.kept_since[i]);
        }
    }
    // Once per state: reports of its other tiles find these keepers no more.
    kept.keepers = std::move(later);
    kept.kept_since = std::move(later_since);
    store(fx.state, key, kept);
}

/// Ends the work of answers (18.7): of a keeper when it answers, because it has loaded and hashed the state; of all
/// parties when no report about the state is open any more or the run is over. Until then other keepers may still be
/// asked.
void close_about(Effects& fx, const market::Report& report, const std::optional<Address>& answered_by) {
    auto about = load<ReportsAbout>(fx.state, reports_about(report)).value_or(ReportsAbout{});
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(report.task));
    const bool all = about.open <= 1 || report.kind != ReportKind::kept;
    std::vector<Address> busy;
    for (const Address& party : about.busy) {
        if (!all && party != answered_by) {
            busy.push_back(party);
            continue;
        }
        const std::uint64_t work = market::answer_work(spec);
        report.kind == ReportKind::kept ? end_kept_work(fx, party, work) : end_work(fx, party, work);
        about.ready.push_back(party);
    }
    about.busy = std::move(busy);
    if (about.open <= 1) return remove(fx.state, reports_about(report));
    --about.open;
    store(fx.state, reports_about(report), about);
}

/// Returns the state that is reported, or the segment that takes in the message; nullopt: program and data, which every
/// segment needs, and a message that several segments of the run may take in (21.14).
std::optional<std::uint64_t> subject_of(const StateView& view, const ReportUnavailable& call) {
    const auto kind = static_cast<ReportKind>(call.kind);
    if (kind == ReportKind::program || kind == ReportKind::data) return std::nullopt;
    if (kind != ReportKind::message) return call.index;
    if (const auto terms = views::group_spec(view, call.task); terms && terms->rollbacks != 0) return std::nullopt;
    const std::uint64_t round = market::reported_message(call.index).round;
    return views::segment_taking_in(view, call.task, call.run, round).value_or(market::kSegmentsMax);
}

ReportUnavailable call_of(const market::Report& report) {
    return {static_cast<std::uint8_t>(report.kind), report.task, report.run, report.index, report.tensor, report.tile};
}

keys::Key awaited(const StateView& view, const market::Report& report) {
    const auto subject = subject_of(view, call_of(report));
    return subject ? keys::awaited_state(report.task, report.run, *subject, report.reporter)
                   : keys::awaited(report.task, report.run, report.reporter);
}

/// Takes a closed report off the successor's count of open reports about its first state (16.1.13).
void count_closed_kept(Effects& fx, const market::Report& report) {
    auto own = run_of_solver(fx.state, report.task, report.reporter);
    if (!own || own->open_reports == 0) return;
    --own->open_reports;
    store(fx.state, keys::run(own->task, own->index), *own);
}

/// Whether audits wait for the answer. Only the reporter waits for answers about a model or a kept state.
bool holds_audits_up(const market::Report& report) {
    return report.kind != ReportKind::model && report.kind != ReportKind::kept;
}

void end_wait(Effects& fx, const market::Report& report) {
    if (report.kind == ReportKind::kept) return count_closed_kept(fx, report);
    if (!holds_audits_up(report)) return;
    auto waits = must_load<Awaited>(fx.state, awaited(fx.state, report));
    if (--waits.open == 0) return remove(fx.state, awaited(fx.state, report));
    store(fx.state, awaited(fx.state, report), waits);
}

/// Whether the report concerns this segment: a state concerns the segment that starts there, a message the one that
/// takes it in; program and data concern every segment.
bool concerns(const StateView& view, const ReportUnavailable& call, std::uint64_t segment) {
    if (static_cast<ReportKind>(call.kind) == ReportKind::message) {
        const market::ReportedMessage reported = market::reported_message(call.index);
        return views::takes_in(view, call.task, call.run, segment, reported.round, reported.author);
    }
    const auto state = subject_of(view, call);
    return !state || *state == views::start_of_segment(view, call.task, call.run, segment);
}

/// 16.1.13: a successor waits no longer than until the last of its answers is there.
void end_wait_for_state(Effects& fx, const market::Report& report) {
    auto own = run_of_solver(fx.state, report.task, report.reporter);
    if (!own || own->open_reports != 0) return;
    end_finish_wait(*own, fx.height);
    if (own->waits_until > fx.height) {
        const std::uint64_t left = own->waits_until - fx.height;
        own->waited -= std::min(own->waited, left);
        own->waits_until = fx.height;
        if (own->deadline > fx.height) {
            own->deadline -= std::min(own->deadline - fx.height, left);
            const bool assigned = own->state == market::RunState::assigned;
            schedule_single(fx, own->deadline + 1,
                            assigned ? ScheduledKind::accept_deadline : ScheduledKind::checkpoint_deadline, own->task,
                            own->index);
        }
    }
    store(fx.state, keys::run(own->task, own->index), *own);
}

}  // namespace

market::Seat* owed_seat(market::Audit& audit, const Address& party) {
    for (market::Seat& seat : audit.seats)
        if (seat.auditor == party && seat.state == market::SeatState::drawn) return &seat;
    return nullptr;
}

std::vector<market::Audit> owed_audits(const StateView& view, const ReportUnavailable& call, const Address& party) {
    std::vector<market::Audit> out;
    for (const std::uint64_t id : views::open_audits(view, party)) {
        auto audit = must_load<market::Audit>(view, keys::audit(id));
        if (audit.task != call.task || audit.run != call.run || !concerns(view, call, audit.segment)) continue;
        if (audit.phase == market::AuditPhase::collecting && owed_seat(audit, party)) out.push_back(std::move(audit));
    }
    return out;
}

std::vector<market::Dispute> own_disputes(const StateView& view, const ReportUnavailable& call, const Address& party) {
    std::vector<market::Dispute> out;
    for (const std::uint64_t id : list<std::uint64_t>(view, keys::accusations(call.task, call.run, party))) {
        auto dispute = must_load<market::Dispute>(view, keys::dispute(id));
        if (concerns(view, call, dispute.segment)) out.push_back(std::move(dispute));
    }
    return out;
}

void await_answer(Effects& fx, const market::Report& report) {
    if (!holds_audits_up(report)) return;
    auto waits = load<Awaited>(fx.state, awaited(fx.state, report)).value_or(Awaited{});
    ++waits.open;
    waits.until = std::max(waits.until, report.deadline);
    store(fx.state, awaited(fx.state, report), waits);
}

std::optional<std::uint64_t> answers_awaited(const StateView& view, const market::Audit& audit,
                                             const Address& auditor) {
    return answers_awaited(view, audit.task, audit.run, audit.segment, auditor);
}

std::optional<std::uint64_t> answers_awaited(const StateView& view, std::uint64_t task, std::uint32_t run,
                                             std::uint64_t segment, const Address& reporter) {
    const auto any = load<Awaited>(view, keys::awaited(task, run, reporter));
    const std::uint64_t state = views::start_of_segment(view, task, run, segment);
    const auto start = load<Awaited>(view, keys::awaited_state(task, run, state, reporter));
    if (!any && !start) return std::nullopt;
    return std::max(any ? any->until : 0, start ? start->until : 0);
}

keys::Key reports_about(const market::Report& report) {
    return keys::reports_about(report.task, report.run, static_cast<std::uint8_t>(report.kind), report.index);
}

void report_deadline(Effects& fx, std::uint64_t id) {
    const auto report = must_load<market::Report>(fx.state, keys::report(id));
    if (report.state != market::ReportState::open) return;
    close_report(fx, id, std::nullopt);
    if (report.kind == ReportKind::kept) {
        penalise_keepers(fx, report);
        return resume_after_answer(fx, report);  // Later answers that were waited for may be there already.
    }
    forfeit_silent_run(fx, report.task, report.run, SlashReason::not_served);
}

void close_report(Effects& fx, std::uint64_t id, const std::optional<Address>& answered_by) {
    auto report = must_load<market::Report>(fx.state, keys::report(id));
    report.state = answered_by ? market::ReportState::answered : market::ReportState::failed;
    store(fx.state, keys::report(id), report);
    remove_from_list(fx.state, keys::open_reports(report.task), id);
    close_about(fx, report, answered_by);
    end_wait(fx, report);
    pay(fx, Contract::audits, answered_by.value_or(report.reporter), report.fee);
    fx.emit(ReportClosed{id, report.task, answered_by.has_value()});
}

void close_reports(Effects& fx, std::uint64_t task, std::uint32_t run) {
    for (const std::uint64_t id : views::open_reports(fx.state, task)) {
        const auto report = must_load<market::Report>(fx.state, keys::report(id));
        // Reports to keepers continue without the run that made the state.
        if (report.run == run && report.kind != ReportKind::kept) close_report(fx, id, std::nullopt);
    }
}

void close_all_reports(Effects& fx, std::uint64_t task) {
    for (const std::uint64_t id : views::open_reports(fx.state, task)) close_report(fx, id, std::nullopt);
}

void resume_after_answer(Effects& fx, const market::Report& report) {
    if (report.kind == ReportKind::kept) return end_wait_for_state(fx, report);
    if (report.kind == ReportKind::model) return;
    const ReportUnavailable call = call_of(report);
    // None: it was a challenger's, or the auditor has committed. A seat that was drawn meanwhile waited as well.
    for (market::Audit& audit : owed_audits(fx.state, call, report.reporter))
        if (owed_seat(audit, report.reporter)->moves <= fx.params.reports)  // 16.1.20
            take_seat_up_again(fx, audit, report.reporter);
    for (const market::Dispute& dispute : own_disputes(fx.state, call, report.reporter))
        end_wait_for_tiles(fx, dispute.id);
}

}  // namespace retrace::contracts
