// SPDX-License-Identifier: MIT
// Payments. SPEC 13.4: a segment is paid when its window has passed, no dispute is open on it or before it, and a state
// at or after its end is retained, so that paid work is never run and paid again.
#include <limits>

#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/retentions.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

constexpr std::uint64_t kStepsMax = 64;  // segments per call; the next block continues
constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

/// 15.8: returns 0 when every replica that runs the segment has opened its end, so that a difference is known; else the
/// height up to which the others are waited for. A replica that joined later is waited for during one interval of the
/// task (13.1.1).
std::uint64_t compared_by(const StateView& view, const market::Params& params, const market::Run& run,
                          const market::Task& task, std::uint64_t height) {
    std::uint64_t by = 0;
    for (const std::uint32_t active : views::replicas_of(view, task, run.index)) {
        const auto other = must_load<market::Run>(view, keys::run(task.id, active));
        if (active == run.index || run.finalised < other.first_state) continue;
        if (views::is_stopped(view, task.id, active)) continue;  // 13.7.1
        const auto end = views::checkpoint(view, task.id, active, run.finalised + 1);
        if (end && end->opened) continue;
        if (!other.joined) return kForever;
        const keys::Key own_key = keys::checkpoint(task.id, run.index, run.finalised + 1);
        const auto own = must_load<market::Checkpoint>(view, own_key);
        const std::uint64_t until = own.height + longest_interval(view, params, task.id);
        if (height <= until) by = std::max(by, until);
    }
    return by;
}

/// 12.7.9: whether another run had opened the same end when this run committed its own. If other runs waited for this
/// commitment, none can have opened before it in the same block; if none waited, an opening in the same block counts
/// too, because it was public in the transaction pool.
bool is_copy(const Effects& fx, const market::Run& run, const market::Segment& segment, const market::Task& task) {
    const std::uint64_t public_by = segment.commit_height - (segment.not_awaited ? 0 : 1);
    const std::uint64_t state = run.finalised + 1;
    const auto end = must_load<market::Checkpoint>(fx.state, keys::checkpoint(task.id, run.index, state));
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        const auto seen = index == run.index ? std::nullopt : views::checkpoint(fx.state, task.id, index, state);
        if (seen && seen->opened && seen->open_height <= public_by && seen->root == end.root) return true;
    }
    return false;
}

/// Returns the number of copies among the run's segments below `state`, which is at most `run.finalised`.
std::uint64_t not_paid_below(const Effects& fx, const market::Run& run, std::uint64_t state) {
    if (!run.joined || state <= run.first_state) return 0;
    return must_load<market::Segment>(fx.state, keys::segment(run.task, run.index, state - 1)).not_paid;
}

/// Called when the segment at `run.finalised` becomes finalised: updates its count of copies.
void count_copy(Effects& fx, const market::Run& run, market::Segment& segment, const market::Task& task) {
    if (!run.joined) return;
    segment.not_paid = not_paid_below(fx, run, run.finalised) + (is_copy(fx, run, segment, task) ? 1 : 0);
    store(fx.state, keys::segment(run.task, run.index, run.finalised), segment);
}

bool may_be_finalised(const market::Segment& segment, const std::optional<std::uint64_t>& window,
                      std::uint64_t height) {
    const bool decided = segment.state == SegmentState::verified || segment.state == SegmentState::unaudited;
    return decided && window && height >= *window && segment.open_disputes == 0;
}

/// Advances run.finalised by at most `most` segments, fewer for a run that joined, whose segments are compared with
/// those of other runs. A finalised segment stays so, because its window is over.
void advance_finalised(Effects& fx, market::Run& run, std::uint64_t most) {
    const auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    const bool in_group = views::is_group(fx.state, run.task);
    const std::uint64_t steps = run.joined ? std::max<std::uint64_t>(1, most / task.runs) : most;
    for (std::uint64_t i = 0; i < steps; ++i, ++run.finalised) {
        auto segment = views::segment(fx.state, run.task, run.index, run.finalised);
        const auto window = segment ? window_end(fx.state, fx.params, spec, run, *segment) : std::nullopt;
        const bool decided = segment && may_be_finalised(*segment, window, fx.height) &&
                             (!in_group || is_settled_in_group(fx.state, run, run.finalised));
        const std::uint64_t wait = decided ? compared_by(fx.state, fx.params, run, task, fx.height) : kForever;
        if (wait == 0) {
            if (segment->audits != 0) count_finalised_audit(fx, run, run.finalised);
            count_copy(fx, run, *segment, task);
            continue;
        }
        // 9.3: the item that is due may have stood for this window too. Other events that it waits for send their
        // own item.
        if (wait != kForever) schedule_single(fx, wait + 1, ScheduledKind::payment, run.task, run.index);
        if (window && *window > fx.height) schedule_single(fx, *window, ScheduledKind::payment, run.task, run.index);
        return;
    }
    schedule_single(fx, fx.height + 1, ScheduledKind::payment, run.task, run.index);
}

/// 13.8.6: ends a wait for finalised segments. The time for the next checkpoint begins now, and the finishing height
/// moves by the wait.
void end_wait(Effects& fx, market::Run& run) {
    if (views::is_group(fx.state, run.task)) return;  // 21.5
    const bool complete = run.next_state > must_load<market::TaskSpec>(fx.state, keys::spec(run.task)).segments();
    if (run.deadline != 0 || complete || run.next_state - run.finalised >= kUnfinalisedMax) return;
    if (run.unaudited_since != 0) return;                             // 14.12.3
    if (views::is_given_back(fx.state, run.task, run.index)) return;  // 13.12
    const keys::Key last = keys::checkpoint(run.task, run.index, run.next_state - 1);
    run.finish_height += fx.height - must_load<market::Checkpoint>(fx.state, last).height;
    start_checkpoint_deadline(fx, run);
}

void pay_until(Effects& fx, market::Run& run, std::uint64_t end) {
    const std::uint64_t from = run.paid;
    const std::uint64_t count = end - from - (not_paid_below(fx, run, end) - not_paid_below(fx, run, from));
    auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    // 13.4.1: invariants.cpp checks that the escrow covers all runs; a payment takes at most what is there.
    const bool in_group = views::is_group(fx.state, run.task);
    const U256 earned = in_group ? earned_in_group(fx.state, run, from, end) : run.price * U256(count);
    const U256 amount = ledger::min(earned, task.escrow);
    task.escrow -= amount;
    store(fx.state, keys::task(run.task), task);
    pay(fx, Contract::market, run.solver, amount);
    auto solver = must_load<market::SolverInfo>(fx.state, keys::solver(run.solver));
    solver.reputation.segments += count;
    store(fx.state, keys::solver(run.solver), solver);
    fx.emit(SegmentsPaid{run.task, run.solver, run.index, from, count, amount});
    run.earned += amount;
    run.paid = end;
    std::erase_if(run.retained, [&](std::uint64_t state) { return state <= end; });
    return_retentions(fx, run.task, run.index, end);  // 14.11
}

void begin_delivery(Effects& fx, std::uint64_t id) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (task.state != market::TaskState::running) return;
    for (const std::uint32_t active : task.active)
        if (must_load<market::Run>(fx.state, keys::run(id, active)).state != market::RunState::delivering) return;
    stop_raising(fx, task);
    task.deliver_end = fx.height + fx.params.deliver_blocks;
    move_task(fx, task, market::TaskEvent::finish);
    schedule(fx, task.deliver_end + 1, {ScheduledKind::deliver_deadline, id, 0, 0});
}

}  // namespace

bool payments_lag(const StateView& view, const market::Params& params, const market::Run& run, std::uint64_t height) {
    if (!run.joined) return false;  // All of its segments are finalised at once (pay_what_is_finalised).
    if (views::is_stopped(view, run.task, run.index)) return false;  // 13.7.1: it finalises nothing more.
    const auto segment = views::segment(view, run.task, run.index, run.finalised);
    if (!segment) return false;
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(run.task));
    if (!may_be_finalised(*segment, window_end(view, params, spec, run, *segment), height)) return false;
    return compared_by(view, params, run, must_load<market::Task>(view, keys::task(run.task)), height) == 0;
}

void pay_what_is_finalised(Effects& fx, std::uint64_t id, std::uint32_t index, bool ends_unaudited) {
    auto run = must_load<market::Run>(fx.state, keys::run(id, index));
    // The run ends in this block, so nothing is left for the next. While it disputes a replica, nothing is finalised.
    if (!disputes_replica(fx.state, run) && !views::is_stopped(fx.state, id, index))
        advance_finalised(fx, run, kUnfinalisedMax);
    const std::uint64_t end =
        views::is_group(fx.state, id) ? payable_in_group(fx.state, run, ends_unaudited) : run.finalised;
    if (end > run.paid) pay_until(fx, run, end);
    store(fx.state, keys::run(id, index), run);
}

namespace {

/// 21.9: pays a member its finalised segments, because nobody succeeds it. It then delivers, or leaves, if it commits
/// nothing more.
void pay_member(Effects& fx, market::Run& run) {
    if (const std::uint64_t end = payable_in_group(fx.state, run); end > run.paid) pay_until(fx, run, end);
    const bool finished = has_finished(fx.state, run);
    if (finished) run.state = market::RunState::delivering;
    store(fx.state, keys::run(run.task, run.index), run);
    if (finished) return begin_delivery(fx, run.task);
    if (has_left(fx.state, run)) leave_group(fx, run.task, run.index);
}

/// Pays every segment that is due, in order; the last one starts the delivery.
void pay_what_is_due(Effects& fx, std::uint64_t id, std::uint32_t index) {
    auto run = must_load<market::Run>(fx.state, keys::run(id, index));
    if (run.state == market::RunState::delivering) return begin_delivery(fx, id);  // it may have waited for other runs
    // 15.8.1: replicas are not paid while they dispute, because their other differences have no dispute of their own.
    if (run.state != market::RunState::running || disputes_replica(fx.state, run)) return;
    if (views::is_stopped(fx.state, id, index)) return;  // 13.7.1
    advance_finalised(fx, run, kStepsMax);
    if (views::is_group(fx.state, id)) return pay_member(fx, run);
    end_wait(fx, run);
    const std::uint64_t segments = must_load<market::TaskSpec>(fx.state, keys::spec(id)).segments();
    // The final state needs no keeper: no run resumes from it, and the solver delivers it.
    std::uint64_t due = run.finalised == segments ? segments : run.paid;
    for (const std::uint64_t state : run.retained)
        if (state <= run.finalised) due = std::max(due, state);
    if (due > run.paid) pay_until(fx, run, due);
    const bool finished = run.paid == segments;
    if (finished) run.state = market::RunState::delivering;
    store(fx.state, keys::run(id, index), run);
    if (finished) return begin_delivery(fx, id);
    if (views::is_given_back(fx.state, id, index)) schedule_given_back_end(fx, run);
}

}  // namespace

void advance_payments(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const std::uint64_t before = must_load<market::Run>(fx.state, keys::run(id, index)).finalised;
    pay_what_is_due(fx, id, index);
    if (views::is_group(fx.state, id)) {
        audit_contradiction(fx, id, index);
        note_finalised(fx, must_load<market::Run>(fx.state, keys::run(id, index)), before);
    }
    release_held_audits(fx, id, index);
}

}  // namespace retrace::contracts
