// SPDX-License-Identifier: MIT
// The draws are in segment_draw.cpp and auditor_draw.cpp.
#include "contracts/lifecycle/audits/rounds.hpp"

#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/segment_draw.hpp"
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SeatState;
using market::SegmentState;

market::TaskSpec spec_of(const Effects& fx, const market::Audit& audit) {
    return must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
}

void close(Effects& fx, market::Audit& audit) {
    settle_silence(fx, audit);
    end_wait_for_auditors(fx, audit);
    forget_members(fx, audit);
    forget_cleared_seats(fx, audit);
    set_phase(fx, audit, AuditPhase::closed, 0);
    remove_from_list(fx.state, keys::run_audits(audit.task, audit.run), audit.id);
}

std::size_t count(const market::Audit& audit, SeatState state) {
    return static_cast<std::size_t>(std::count_if(audit.seats.begin(), audit.seats.end(),
                                                  [&](const market::Seat& seat) { return seat.state == state; }));
}

/// Whether the audit has auditors whose verdicts may convict the run, which must not escape them by ending. 14.12.5,
/// 14.10
bool is_seated(const market::Audit& audit) {
    if (audit.phase == AuditPhase::collecting || audit.phase == AuditPhase::verdicts) return true;
    return (audit.phase == AuditPhase::drawing || audit.phase == AuditPhase::revealing) &&
           count(audit, SeatState::committed) != 0;
}

/// Whether the audit ends by itself. A reveal that waits for the audit of a replica (13.1) need not.
bool is_due(const market::Audit& audit) {
    return audit.phase == AuditPhase::revealing ? audit.deadline != 0 : is_seated(audit);
}

using Property = bool (*)(const market::Audit& audit);

/// Whether the stored audit, which is about to be replaced, has the property.
bool had(const Effects& fx, const market::Audit& audit, Property property) {
    const auto before = views::audit(fx.state, audit.id);
    return before && property(*before);
}

/// Counts under `key` the run's audits that have the property, of which `audit` is about to be stored.
void count_audits(Effects& fx, const keys::Key& key, const market::Audit& audit, Property property) {
    const bool before = had(fx, audit, property), after = property(audit);
    if (before == after) return;
    const std::uint64_t now = counter(fx.state, key) + (after ? 1 : 0) - (before ? 1 : 0);
    if (now == 0)
        remove(fx.state, key);
    else
        store(fx.state, key, Counter{now});
}

void draw_again(Effects& fx, market::Audit& audit) {
    if (audit.redraws < kRedrawsMax) ++audit.redraws;
    set_phase(fx, audit, AuditPhase::drawing, 0);
    schedule(fx, next_draw_height(fx.params, fx.height), {ScheduledKind::redraw, audit.id, 0, 0});
}

/// Replaces silent auditors. 14.10: an auditor that has used up its reports did all it could; it leaves without a
/// verdict and without a penalty.
void replace_silent(Effects& fx, market::Audit& audit) {
    for (market::Seat& seat : audit.seats) {
        if (seat.state != SeatState::drawn) continue;
        if (seat.reports >= fx.params.reports) {
            free_seat(fx, audit, seat);
            seat.state = SeatState::released;
        } else {
            mark_missed(fx, audit, seat);
        }
    }
    continue_without_silent(fx, audit);
}

}  // namespace

void set_phase(Effects& fx, market::Audit& audit, AuditPhase phase, std::uint64_t deadline) {
    audit.phase = phase;
    audit.deadline = deadline;
    count_audits(fx, keys::seated_audits(audit.task, audit.run), audit, is_seated);
    count_audits(fx, keys::due_audits(audit.task, audit.run), audit, is_due);
    store(fx.state, keys::audit(audit.id), audit);
    fx.emit(AuditPhaseChanged{audit.id, audit.task, static_cast<std::uint8_t>(phase), deadline});
    if (deadline != 0) schedule_single(fx, deadline + 1, ScheduledKind::audit_deadline, audit.id, 0);
}

void close_without_verdict(Effects& fx, market::Audit& audit) {
    close(fx, audit);
    auto segment = must_load<market::Segment>(fx.state, keys::segment(audit.task, audit.run, audit.segment));
    segment.state = SegmentState::unaudited;
    store(fx.state, keys::segment(audit.task, audit.run, audit.segment), segment);
    wake_openings(fx, audit.task, audit.run, views::start_of_segment(fx.state, audit.task, audit.run, audit.segment));
    wake_openings(fx, audit.task, audit.run, audit.segment + 1);
    wake_members(fx, audit.task);
    advance_payments(fx, audit.task, audit.run);
}

void continue_without_silent(Effects& fx, market::Audit& audit, DrawResult last) {
    if (audit.redraws < fx.params.redraws) {
        draw_again(fx, audit);
    } else if (count(audit, SeatState::committed) != 0) {
        enter_revealing(fx, audit);
    } else if (views::is_private(fx.state, audit.task, audit.run, audit.segment)) {
        close_without_verdict(fx, audit);  // 21.13.34
    } else if (count(audit, SeatState::released) != 0 && last != DrawResult::busy) {
        // 14.10: no drawn auditor, over all draws, came to a verdict. Silence may have other reasons than missing
        // data, so stake is lost only when most auditors reported that it was not served.
        const DrawnSeats seats = drawn_seats(fx.state, audit);
        const bool unserved = 2 * seats.released > seats.drawn;
        const auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
        // An open dispute, or another audit's verdicts, may convict the run, and must not be cut off by its end.
        const std::uint64_t seated = views::seated_audits(fx.state, run.task, run.index),
                            due = views::due_audits(fx.state, run.task, run.index);
        const bool others_seated = seated > (had(fx, audit, is_seated) ? 1 : 0);
        const bool others_due = due > (had(fx, audit, is_due) ? 1 : 0);
        // Audits of two replicas may wait for each other forever, so after kRedrawsMax draws only audits that end by
        // themselves are waited for.
        const bool may_convict = run.open_disputes != 0 || disputes_replica(fx.state, run) || others_due ||
                                 views::due_openings(fx.state, run.task, run.index) != 0 ||
                                 holds_shares(fx.state, run.task, run.index) ||
                                 (others_seated && audit.redraws < kRedrawsMax) ||
                                 (audit.redraws < kRedrawsMax && (holds_windows(fx.state, fx.params, run, fx.height) ||
                                                                  views::pending_draws(fx.state, run.task, run.index)));
        if (!unserved && may_convict) return draw_again(fx, audit);
        store(fx.state, keys::audit(audit.id), audit);
        unserved ? forfeit_unaudited_run(fx, audit.task, audit.run) : end_unaudited_run(fx, audit.task, audit.run);
    } else if (last == DrawResult::busy || spec_of(fx, audit).allow_unaudited || is_decided_in_replica(fx, audit)) {
        close_without_verdict(fx, audit);
    } else {
        wait_for_auditors(fx, audit);  // 14.12.1
    }
}

void enter_opening(Effects& fx, market::Audit& audit) {
    set_phase(fx, audit, AuditPhase::opening, opening_deadline(fx, audit.task));
}

void enter_collecting(Effects& fx, market::Audit& audit) {
    std::uint64_t due = fx.height;
    const std::uint64_t work = market::audit_work(spec_of(fx, audit), audit.segment);
    for (const market::Seat& seat : audit.seats) {
        if (seat.state != SeatState::drawn) continue;
        const auto answered = answers_awaited(fx.state, audit, seat.auditor);
        due = std::max({due, seat.due, answered ? *answered + work : 0});  // 14.6.8, 16.1.13
    }
    set_phase(fx, audit, AuditPhase::collecting, due + fx.params.verdict_blocks);
}

void take_seat_up_again(Effects& fx, market::Audit& audit, const Address& auditor) {
    const bool served = !answers_awaited(fx.state, audit, auditor);
    for (market::Seat& seat : audit.seats)
        if (served && seat.state == SeatState::drawn && seat.auditor == auditor) {
            end_seat_work(fx, audit, seat);
            seat.due = give_work(fx, auditor, market::audit_work(spec_of(fx, audit), audit.segment));
        }
    enter_collecting(fx, audit);
}

void enter_revealing(Effects& fx, market::Audit& audit) {
    end_wait_for_auditors(fx, audit);
    const keys::Key end_key = keys::checkpoint(audit.task, audit.run, audit.segment + 1);
    const auto end = must_load<market::Checkpoint>(fx.state, end_key);
    if (end.opened) return enter_verdicts(fx, audit);  // a later round, after a dispute
    set_phase(fx, audit, AuditPhase::revealing, 0);
    wake_openings(fx, audit.task, audit.run,
                  audit.segment + 1);  // starts the deadline, now or once the reveal is legal (13.1)
    expedite_replica_audits(fx, audit);
}

void start_reveal_deadline(Effects& fx, market::Audit& audit) {
    set_phase(fx, audit, AuditPhase::revealing, fx.height + fx.params.reveal_segment_blocks);
}

void enter_verdicts(Effects& fx, market::Audit& audit) {
    if (count(audit, SeatState::committed) == 0) {  // 14.13.1
        set_phase(fx, audit, AuditPhase::drawing, 0);
        return queue_audit(fx, audit);
    }
    set_phase(fx, audit, AuditPhase::verdicts, fx.height + fx.params.reveal_verdict_blocks);
}

void audit_deadline(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    if (audit.deadline == 0 || audit.phase == AuditPhase::closed) return;
    if (fx.height <= audit.deadline)  // The deadline has moved: a later phase, or a wait for an answer.
        return schedule_single(fx, audit.deadline + 1, ScheduledKind::audit_deadline, id, 0);
    switch (audit.phase) {
        case AuditPhase::opening:
        case AuditPhase::revealing:
            return forfeit_silent_run(fx, audit.task, audit.run, SlashReason::not_opened);  // 14.4
        case AuditPhase::collecting: return replace_silent(fx, audit);
        case AuditPhase::verdicts: {
            for (market::Seat& seat : audit.seats)
                if (seat.state == SeatState::committed) slash_hidden_verdict(fx, audit, seat);
            return finish_audit(fx, audit);
        }
        default: return;
    }
}

void finish_audit(Effects& fx, market::Audit& audit) {
    for (market::Seat& seat : audit.seats)
        if (seat.state == SeatState::matched) free_seat(fx, audit, seat);
    close(fx, audit);
    if (count(audit, SeatState::matched) == 0) {
        settle_unmatched(fx, audit.task, audit.run, audit.segment);
    } else {
        auto segment = must_load<market::Segment>(fx.state, keys::segment(audit.task, audit.run, audit.segment));
        segment.state = SegmentState::verified;
        store(fx.state, keys::segment(audit.task, audit.run, audit.segment), segment);
        fx.emit(SegmentVerified{audit.task, audit.run, audit.segment, audit.id});
        note_matched(fx, audit);
    }
    wake_members(fx, audit.task);
    advance_payments(fx, audit.task, audit.run);
}

void release_audit(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    settle_silence(fx, audit);
    for (market::Seat& seat : audit.seats) {
        const bool worked = seat.state == SeatState::committed || seat.state == SeatState::matched;
        if (seat.state == SeatState::drawn || worked) free_seat(fx, audit, seat);
        if (worked && !seat.paid) pay_seat(fx, audit, seat);
        if (seat.state == SeatState::drawn || seat.state == SeatState::committed) seat.state = SeatState::released;
    }
    close(fx, audit);
}

void settle_unmatched(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    if (must_load<market::Run>(fx.state, keys::run(task, run)).state != market::RunState::running) return;
    auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run, index));
    if (segment.state != SegmentState::auditing || segment.open_disputes != 0) return;
    if (must_load<market::Audit>(fx.state, keys::audit(segment.audit)).phase != AuditPhase::closed) return;
    if (segment.audits <= fx.params.redraws) {
        return await_draw(fx, task, run, index, segment);
    }
    if (must_load<market::TaskSpec>(fx.state, keys::spec(task)).allow_unaudited) {
        segment.state = SegmentState::unaudited;
    } else {  // 14.12.14: guessing auditors may have bonds for any number of rounds
        auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
        add_to_list(fx.state, keys::run_audits(task, run), audit.id);
        return wait_for_auditors(fx, audit);
    }
    store(fx.state, keys::segment(task, run, index), segment);
}

}  // namespace retrace::contracts
