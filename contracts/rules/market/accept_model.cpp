// SPDX-License-Identifier: MIT
// SPEC 12.6. The requester accepts the model, which settles the task before its deadline.
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

Verdict check(const AcceptModel&) { return Verdict::ok; }

Verdict admit(const AcceptModel& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return Verdict::unknown_task;                                             // 12.6.1
    if (task->requester != context.sender) return Verdict::not_requester;                // 12.6.2
    if (task->state != market::TaskState::delivering) return Verdict::wrong_task_state;  // 12.6.3
    return Verdict::ok;
}

void apply(const AcceptModel& call, const TxContext&, Effects& fx) { settle_task(fx, call.task); }

}  // namespace retrace::contracts
