// SPDX-License-Identifier: MIT
// SPEC 12.5. The winner confirms that it has program and data, or declines, at no charge unless it was reserved (12.11.26).
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/reservations.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {
namespace {

CallStatus admit_assigned(std::uint64_t task, const TxContext& context, const StateView& view) {
    if (!views::task(view, task)) return CallStatus::unknown_task;  // 12.5.1
    const auto run = run_of_solver(view, task, context.sender);
    if (!run) return CallStatus::not_solver;                                           // 12.5.2
    if (run->state != market::RunState::assigned) return CallStatus::wrong_run_state;  // 12.5.3
    return CallStatus::ok;
}

}  // namespace

CallStatus check(const AcceptData&) { return CallStatus::ok; }

CallStatus admit(const AcceptData& call, const TxContext& context, const StateView& view) {
    return admit_assigned(call.task, context, view);
}

void apply(const AcceptData& call, const TxContext& context, Effects& fx) {
    auto run = run_of_solver(fx.state, call.task, context.sender).value();
    honour_reservation(fx, run.task, run.index);  // 12.11.25
    run.state = market::RunState::running;
    start_checkpoint_deadline(fx, run);
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    if (task.state == market::TaskState::assigned) move_task(fx, task, market::TaskEvent::accept);
    fx.emit(DataAccepted{call.task, context.sender, run.index});
}

CallStatus check(const DeclineTask&) { return CallStatus::ok; }

CallStatus admit(const DeclineTask& call, const TxContext& context, const StateView& view) {
    return admit_assigned(call.task, context, view);
}

void apply(const DeclineTask& call, const TxContext& context, Effects& fx) {
    const auto run = run_of_solver(fx.state, call.task, context.sender).value();
    leave_run(fx, run.task, run.index, false);
}

}  // namespace retrace::contracts
