// SPDX-License-Identifier: MIT
// SPEC 13.4: a segment is paid when its window has passed, nothing is open on it or before it, and a state at or after
// its end is retained, so that work which was paid is never run and paid again.
#include "contracts/disputes/replicas.hpp"
#include "contracts/market/runs.hpp"
#include "contracts/market/tasks.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

constexpr std::uint64_t kStepsMax = 64;  // segments looked at in one call; the next block goes on

/// 15.8: every replica that runs the segment too has opened its end, so that a difference is known.
bool is_compared(const Effects& fx, const market::Run& run, const market::Task& task) {
    for (const std::uint32_t active : task.active) {
        const auto other = must_load<market::Run>(fx.state, keys::run(task.id, active));
        if (active == run.index || run.clear < other.first_state) continue;
        const auto end = views::checkpoint(fx.state, task.id, active, run.clear + 1);
        if (!end || !end->opened) return false;
    }
    return true;
}

bool is_clear(const Effects& fx, const market::Segment& segment) {
    const bool decided = segment.state == SegmentState::verified || segment.state == SegmentState::unaudited;
    return decided && segment.window_end != 0 && fx.height >= segment.window_end && segment.open_disputes == 0;
}

/// Advances run.clear; what is clear stays so, because its window is over.
void advance_clear(Effects& fx, market::Run& run) {
    const auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    for (std::uint64_t i = 0; i < kStepsMax; ++i, ++run.clear) {
        const auto segment = views::segment(fx.state, run.task, run.index, run.clear);
        if (segment && is_clear(fx, *segment) && is_compared(fx, run, task)) continue;
        // 9.3: the reminder that came may have stood for this window too. What else it waits for calls again.
        if (segment && segment->window_end > fx.height)
            remind(fx, segment->window_end, DueKind::payment, run.task, run.index);
        return;
    }
    remind(fx, fx.height + 1, DueKind::payment, run.task, run.index);
}

/// 13.8.6: what refused the next checkpoint is clear. The time for it begins, and the wait is not the solver's.
void end_wait(Effects& fx, market::Run& run) {
    const bool complete = run.next_state > must_load<market::TaskSpec>(fx.state, keys::spec(run.task)).segments();
    if (run.deadline != 0 || complete || run.next_state - run.clear >= kUnclearMax) return;
    const keys::Key last = keys::checkpoint(run.task, run.index, run.next_state - 1);
    run.finish_height += fx.height - must_load<market::Checkpoint>(fx.state, last).height;
    start_checkpoint_deadline(fx, run);
}

void pay_until(Effects& fx, market::Run& run, std::uint64_t end) {
    const std::uint64_t from = std::min(end, std::max(run.paid, run.unpaid_below));
    const std::uint64_t count = end - from;
    const U256 amount = run.price * U256(count);
    auto task = must_load<market::Task>(fx.state, keys::task(run.task));
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
}

void begin_delivery(Effects& fx, std::uint64_t id) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (task.state != market::TaskState::running) return;
    for (const std::uint32_t active : task.active)
        if (must_load<market::Run>(fx.state, keys::run(id, active)).state != market::RunState::delivering) return;
    stop_raising(fx, task);
    task.deliver_end = fx.height + fx.params.deliver_blocks;
    move_task(fx, task, market::TaskEvent::finish);
    schedule(fx, task.deliver_end + 1, {DueKind::deliver_deadline, id, 0, 0});
}

}  // namespace

void advance_payments(Effects& fx, std::uint64_t id, std::uint32_t index) {
    auto run = must_load<market::Run>(fx.state, keys::run(id, index));
    if (run.state == market::RunState::delivering) return begin_delivery(fx, id);  // others may have been waited for
    // 15.8.1: replicas that dispute are not paid before it ends: what else they differ in has no dispute of its own.
    if (run.state != market::RunState::running || disputes_replica(fx.state, run)) return;
    advance_clear(fx, run);
    end_wait(fx, run);
    const std::uint64_t segments = must_load<market::TaskSpec>(fx.state, keys::spec(id)).segments();
    // The final state needs no keeper: nothing is ever resumed from it, and the solver delivers it.
    std::uint64_t due = run.clear == segments ? segments : run.paid;
    for (const std::uint64_t state : run.retained)
        if (state <= run.clear) due = std::max(due, state);
    if (due > run.paid) pay_until(fx, run, due);
    const bool finished = run.paid == segments;
    if (finished) run.state = market::RunState::delivering;
    store(fx.state, keys::run(id, index), run);
    if (finished) begin_delivery(fx, id);
}

}  // namespace retrace::contracts
