// SPDX-License-Identifier: MIT
// SPEC 12.6. The requester accepts the model, which settles the task before its deadline.
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const AcceptModel&) { return CallStatus::ok; }

CallStatus admit(const AcceptModel& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                                             // 12.6.1
    if (task->requester != context.sender) return CallStatus::not_requester;                // 12.6.2
    if (task->state != market::TaskState::delivering) return CallStatus::wrong_task_state;  // 12.6.3
    return CallStatus::ok;
}

void apply(const AcceptModel& call, const TxContext&, Effects& fx) { settle_task(fx, call.task); }

}  // namespace retrace::contracts
