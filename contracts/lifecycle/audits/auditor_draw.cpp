// SPDX-License-Identifier: MIT
// The draw of auditors for a segment. SPEC 14.2: a later beacon draws them when the segment's start is open. An audit
// that holds no seat waits in a queue until enough members are free; one that holds seats, or for which another audit
// holds seats, waits for at most `redraws` beacons. So every busy member becomes free in bounded time, and the queue
// moves on.
#include "contracts/lifecycle/audits/auditor_draw.hpp"

#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SeatState;

constexpr std::uint64_t kQueueVisitsMax = 256;  // per beacon; the next one continues

/// Places in [first, end) are occupied.
struct Queue {
    std::uint64_t first = 0, end = 0;
    static auto tie(auto& q) { return std::tie(q.first, q.end); }
};
/// `redraws` reveals a stale place: the audit has been given seats since.
struct QueuedAudit {
    std::uint64_t audit = 0, redraws = 0;
    static auto tie(auto& q) { return std::tie(q.audit, q.redraws); }
};

Queue load_queue(const Effects& fx) { return load<Queue>(fx.state, keys::audit_queue()).value_or(Queue{}); }

bool has_commitments(const market::Audit& audit) {
    return std::any_of(audit.seats.begin(), audit.seats.end(),
                       [](const market::Seat& seat) { return seat.state == SeatState::committed; });
}

std::vector<std::uint32_t> replicas_of(const Effects& fx, const market::Audit& audit) {
    return views::replicas_of(fx.state, must_load<market::Task>(fx.state, keys::task(audit.task)), audit.run);
}

/// Returns the open audits of the same segment in the task's other runs that have not stopped (13.7.1).
std::vector<market::Audit> replica_audits(const Effects& fx, const market::Audit& audit) {
    std::vector<market::Audit> out;
    for (const std::uint32_t run : replicas_of(fx, audit)) {
        const auto segment = views::segment(fx.state, audit.task, run, audit.segment);
        if (run == audit.run || !segment || segment->state != market::SegmentState::auditing) continue;
        if (views::is_stopped(fx.state, audit.task, run)) continue;
        const auto other = must_load<market::Audit>(fx.state, keys::audit(segment->audit));
        if (other.phase != AuditPhase::closed) out.push_back(other);
    }
    return out;
}

/// Whether `holds` is true for the same segment in any other run of the task. Runs that stopped do not count: they
/// started at a wrong state, so their segments are compared with no other (13.7.1).
template <class Holds>
bool any_replica(const Effects& fx, const market::Audit& audit, Holds holds) {
    for (const std::uint32_t run : replicas_of(fx, audit)) {
        const auto segment = views::segment(fx.state, audit.task, run, audit.segment);
        if (run == audit.run || !segment || views::is_stopped(fx.state, audit.task, run)) continue;
        if (holds(*segment)) return true;
    }
    return false;
}

/// Whether the same segment of another run waits for its first draw.
bool waits_for_draw_in_replica(const Effects& fx, const market::Audit& audit) {
    return any_replica(fx, audit, [](const market::Segment& segment) {
        return segment.state == market::SegmentState::waiting_draw && segment.audits == 0;
    });
}

/// Whether auditors have committed to the segment's end.
bool has_verdicts(const Effects& fx, const market::Segment& segment) {
    if (segment.state == market::SegmentState::verified) return true;
    if (segment.state != market::SegmentState::auditing) return false;
    const auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
    return audit.phase == AuditPhase::verdicts || (audit.phase == AuditPhase::revealing && has_commitments(audit));
}

/// 14.2.5: whether the draw holds up occupied seats: its own, or those of a replica's audit that may not reveal before
/// this one.
bool holds_seats_up(const Effects& fx, const market::Audit& audit) {
    if (has_commitments(audit)) return true;
    const auto others = replica_audits(fx, audit);
    return std::any_of(others.begin(), others.end(), [](const market::Audit& other) {
        return other.phase == AuditPhase::revealing && other.deadline == 0 && has_commitments(other);
    });
}

/// Whether a replica's reveal need not wait for this audit, which waits for its fees and whose end is open (14.13).
bool waits_behind_its_end(const Effects& fx, const market::Audit& audit) {
    const auto end = views::checkpoint(fx.state, audit.task, audit.run, audit.segment + 1);
    return end && end->opened && is_held(fx.state, audit);
}

void draw_at(Effects& fx, std::uint64_t height, const market::Audit& audit) {
    schedule(fx, height, {ScheduledKind::redraw, audit.id, 0, 0});
}

/// 14.2.6: handles a draw that found no member who may be drawn.
void handle_empty_draw(Effects& fx, market::Audit& audit) {
    if (!audit.seats.empty()) return continue_without_silent(fx, audit, DrawResult::nobody);
    const keys::Key key = keys::segment(audit.task, audit.run, audit.segment);
    auto segment = must_load<market::Segment>(fx.state, key);
    if (segment.postponed >= fx.params.redraws) {
        const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
        // 14.12.13: an undrawn segment of a replica decides only where auditors were silent, and here are none.
        if (!spec.allow_unaudited && !is_audited_in_replica(fx, audit)) return wait_for_auditors(fx, audit);
        return close_without_verdict(fx, audit);
    }
    ++segment.postponed;
    store(fx.state, key, segment);
    draw_at(fx, next_draw_height(fx.params, fx.height), audit);
}

/// Continues the audit after a draw. Returns false when it has to wait for busy members.
bool finish_draw(Effects& fx, market::Audit& audit, DrawResult result) {
    if (result == DrawResult::found)
        enter_collecting(fx, audit);
    else if (result == DrawResult::nobody)
        handle_empty_draw(fx, audit);
    else if (result == DrawResult::too_few)
        wait_for_auditors(fx, audit);
    else
        return false;
    return true;
}

/// Serves the first audit in the queue. Returns false when it stays there.
bool serve(Effects& fx, const QueuedAudit& entry) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(entry.audit));
    if (audit.phase != AuditPhase::drawing || audit.redraws != entry.redraws) return true;  // closed, or seated since
    if (is_frozen(fx.state, audit.task)) return true;
    const auto task = must_load<market::Task>(fx.state, keys::task(audit.task));
    const auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    // 14.2.4: no seats are held while a slower replica computes, or the draw of its segment is still to come.
    if (!all_committed(fx.state, task, run, audit.segment + 1) || waits_for_draw_in_replica(fx, audit)) {
        queue_audit(fx, audit);
        return true;
    }
    if (!are_fees_covered(fx, audit)) {
        hold_audit(fx, audit);  // 14.13
        return true;
    }
    const DrawResult result = fill_seats(fx, audit);
    if (finish_draw(fx, audit, result)) return true;
    if (result == DrawResult::own_busy) queue_audit(fx, audit);  // 14.2.7: other audits do not wait for its small pool
    if (result == DrawResult::exhausted) continue_without_silent(fx, audit, result);
    return result != DrawResult::busy;
}

void leave_place(Effects& fx, std::uint64_t place) {
    remove(fx.state, keys::queued_audit(place));
    Queue queue = load_queue(fx);
    queue.first = place + 1;
    store(fx.state, keys::audit_queue(), queue);
}

/// Returns false when the first audit in the queue stays there.
bool serve_place(Effects& fx, std::uint64_t place) {
    if (!serve(fx, must_load<QueuedAudit>(fx.state, keys::queued_audit(place)))) return false;
    leave_place(fx, place);
    return true;
}

/// 8.4: removes an audit that broke an invariant when served, so that the audits behind it do not wait.
void give_up_place(Effects& fx, std::uint64_t place) {
    const auto entry = load<QueuedAudit>(fx.state, keys::queued_audit(place));
    leave_place(fx, place);
    if (entry) freeze_task(fx, must_load<market::Audit>(fx.state, keys::audit(entry->audit)).task);
}

}  // namespace

void queue_audit(Effects& fx, const market::Audit& audit) {
    Queue queue = load_queue(fx);
    store(fx.state, keys::queued_audit(queue.end++), QueuedAudit{audit.id, audit.redraws});
    store(fx.state, keys::audit_queue(), queue);
}

void enter_drawing(Effects& fx, market::Audit& audit, std::uint64_t shown) {
    set_phase(fx, audit, AuditPhase::drawing, 0);
    const std::uint64_t from = views::start_of_segment(fx.state, audit.task, audit.run, audit.segment);
    const auto start = must_load<market::Checkpoint>(fx.state, keys::checkpoint(audit.task, audit.run, from));
    // The newest beacon may be older than the opening: the solver would have known the auditors.
    const std::uint64_t height = next_draw_height(fx.params, std::max(start.open_height, shown));
    if (height > fx.height)
        draw_at(fx, height, audit);
    else
        draw_auditors_of(fx, audit.id);
}

bool is_audited_in_replica(const Effects& fx, const market::Audit& audit) {
    return any_replica(fx, audit, [&](const market::Segment& segment) { return has_verdicts(fx, segment); });
}

bool is_decided_in_replica(const Effects& fx, const market::Audit& audit) {
    return any_replica(fx, audit, [&](const market::Segment& segment) {
        return segment.state == market::SegmentState::unaudited || has_verdicts(fx, segment);
    });
}

void draw_auditors_of(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    if (audit.phase != AuditPhase::drawing) return;
    if (audit.redraws >= kRedrawsMax) return continue_without_silent(fx, audit);
    if (!holds_seats_up(fx, audit)) return queue_audit(fx, audit);
    if (!has_commitments(audit) && !are_fees_covered(fx, audit)) return hold_audit(fx, audit);  // 14.13
    if (!finish_draw(fx, audit, fill_seats(fx, audit))) continue_without_silent(fx, audit, DrawResult::busy);
}

bool waits_for_moving_audit(const Effects& fx, const market::Audit& audit) {
    for (const market::Audit& other : replica_audits(fx, audit)) {
        const bool reveals = other.phase == AuditPhase::revealing && other.deadline == 0;
        if (!reveals && other.phase != AuditPhase::waiting && other.phase != AuditPhase::no_auditors &&
            other.phase != AuditPhase::closed && !waits_behind_its_end(fx, other))
            return true;
    }
    return false;
}

void expedite_replica_audits(Effects& fx, const market::Audit& audit) {
    for (const market::Audit& other : replica_audits(fx, audit))
        if (other.phase == AuditPhase::drawing && !has_commitments(other))
            draw_at(fx, next_draw_height(fx.params, fx.height), other);
}

void draw_queued(Effects& fx, const BrokenInvariantHandler& on_broken) {
    if (fx.height == 0 || fx.height % fx.params.epoch_blocks != 0) return;
    const Queue now = load_queue(fx);
    const std::uint64_t stop = std::min(now.end, now.first + kQueueVisitsMax);
    for (std::uint64_t place = now.first; place < stop; ++place) {
        bool stays = false;
        const bool done = isolate(fx, on_broken, [&](Effects& inner) { stays = !serve_place(inner, place); });
        if (!done) isolate(fx, on_broken, [&](Effects& inner) { give_up_place(inner, place); });
        if (done && stays) return;
    }
}

}  // namespace retrace::contracts
