// SPDX-License-Identifier: MIT
// SPEC 12.2. The requester cancels a task that was never assigned.
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const CancelTask&) { return CallStatus::ok; }

CallStatus admit(const CancelTask& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                               // 12.2.1
    if (task->requester != context.sender) return CallStatus::not_requester;  // 12.2.2
    // 12.2.3: this includes a successor's auction; payments already made are kept.
    if (!market::next(task->state, market::TaskEvent::cancel)) return CallStatus::wrong_task_state;
    return CallStatus::ok;
}

void apply(const CancelTask& call, const TxContext&, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    return_bids(fx, task, true);
    task.wanted = 0;
    move_task(fx, task, market::TaskEvent::cancel);
    end_task(fx, task);
}

}  // namespace retrace::contracts
