// SPDX-License-Identifier: MIT
// SPEC 12.5. The winner confirms that it has program and data, or declines at no charge.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {
namespace {

Verdict admit_assigned(std::uint64_t task, const TxContext& context, const StateView& view) {
    if (!views::task(view, task)) return Verdict::unknown_task;                      // 12.5.1
    const auto run = run_of_solver(view, task, context.sender);
    if (!run) return Verdict::not_solver;                                            // 12.5.2
    if (run->state != market::RunState::assigned) return Verdict::wrong_run_state;   // 12.5.3
    return Verdict::ok;
}

}  // namespace

std::optional<market::Run> run_of_solver(const StateView& view, std::uint64_t task, const Address& solver) {
    for (const views::RunId& id : views::open_runs(view, solver))
        if (id.task == task) return views::run(view, task, id.run);
    return std::nullopt;
}

std::uint64_t uncounted_work(const StateView& view, const market::Run& run) {
    const std::uint64_t total = backlog(view, run.solver).total;
    return total - std::min(total, run.work_counted);  // Counted work may have been given back since.
}

void count_work(Effects& fx, market::Run& run) {
    const std::uint64_t blocks = uncounted_work(fx.state, run);
    if (blocks == 0) return;
    if (run.deadline != 0) run.deadline += blocks;
    run.finish_height += blocks;
    run.work_counted += blocks;
    store(fx.state, keys::run(run.task, run.index), run);
}

namespace {

/// Returns the deadline of the next checkpoint: the longest time between checkpoints, counted from the end of the
/// solver's other work (18.4), but at most the bid's finishing height.
std::uint64_t checkpoint_deadline(const Effects& fx, const market::Run& run) {
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(run.task));
    const std::uint64_t longest = std::max(fx.params.checkpoint_blocks, spec.checkpoint_blocks);
    const std::uint64_t from = busy_until(fx.state, run.solver, fx.height);
    return std::max(fx.height + 1, std::min(from + longest, run.finish_height));
}

}  // namespace

void start_checkpoint_deadline(Effects& fx, market::Run& run) {
    count_work(fx, run);
    // While 13.8.5 refuses the commitment, the solver waits for others; its time begins afterwards.
    const bool waits = run.next_state - run.finalised >= kUnfinalisedMax || run.unaudited_since != 0;  // 14.12.3
    const bool complete = run.next_state > must_load<TaskSpec>(fx.state, keys::spec(run.task)).segments();
    run.deadline = waits || complete ? 0 : checkpoint_deadline(fx, run);
    store(fx.state, keys::run(run.task, run.index), run);
    if (run.deadline != 0) remind(fx, run.deadline + 1, ScheduledKind::checkpoint_deadline, run.task, run.index);
}

Verdict check(const AcceptData&) { return Verdict::ok; }

Verdict admit(const AcceptData& call, const TxContext& context, const StateView& view) {
    return admit_assigned(call.task, context, view);
}

void apply(const AcceptData& call, const TxContext& context, Effects& fx) {
    auto run = run_of_solver(fx.state, call.task, context.sender).value();
    run.state = market::RunState::running;
    start_checkpoint_deadline(fx, run);
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    if (task.state == market::TaskState::assigned) move_task(fx, task, market::TaskEvent::accept);
    fx.emit(DataAccepted{call.task, context.sender, run.index});
}

Verdict check(const DeclineTask&) { return Verdict::ok; }

Verdict admit(const DeclineTask& call, const TxContext& context, const StateView& view) {
    return admit_assigned(call.task, context, view);
}

void apply(const DeclineTask& call, const TxContext& context, Effects& fx) {
    const auto run = run_of_solver(fx.state, call.task, context.sender).value();
    leave_run(fx, run.task, run.index, false);
}

}  // namespace retrace::contracts
