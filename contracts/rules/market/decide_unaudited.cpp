// SPDX-License-Identifier: MIT
// SPEC 14.12. The requester decides on segments for which no auditors can be drawn.
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const DecideUnaudited&) { return CallStatus::ok; }

CallStatus admit(const DecideUnaudited& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                               // 14.12.6
    if (task->requester != context.sender) return CallStatus::not_requester;  // 14.12.7
    const auto run = views::run(view, call.task, call.run);
    if (!run) return CallStatus::unknown_run;                                         // 14.12.8
    if (run->state != market::RunState::running) return CallStatus::wrong_run_state;  // 14.12.9
    if (run->unaudited_since == 0) return CallStatus::nothing_waits;                  // 14.12.10
    if (run->pays_unaudited && (!call.pay || all_paid_for(view, call.task, call.run)))
        return CallStatus::nothing_waits;  // 14.12.10
    if (context.height < run->unaudited_since + context.params.unaudited_blocks)
        return CallStatus::too_early;  // 14.12.11
    if (!call.pay && (run->open_disputes != 0 || disputes_replica(view, *run)))
        return CallStatus::dispute_open;  // 14.12.12
    if (!call.pay && holds_windows(view, context.params, *run, context.height) &&
        !waited_too_long(context.params, *run, context.height))
        return CallStatus::dispute_open;  // 14.12.12
    if (!call.pay &&
        (views::seated_audits(view, call.task, call.run) != 0 || views::due_audits(view, call.task, call.run) != 0))
        return CallStatus::too_early;  // 14.12.15
    if (!call.pay && views::pending_draws(view, call.task, call.run) != 0 &&
        !waited_too_long(context.params, *run, context.height))
        return CallStatus::too_early;                                                                    // 14.12.16
    if (!call.pay && views::due_openings(view, call.task, call.run) != 0) return CallStatus::too_early;  // 14.12.18
    if (!call.pay && payments_lag(view, context.params, *run, context.height))
        return CallStatus::too_early;                                                        // 14.12.17
    if (!call.pay && holds_shares(view, call.task, call.run)) return CallStatus::too_early;  // 14.12.19
    return CallStatus::ok;
}

void apply(const DecideUnaudited& call, const TxContext&, Effects& fx) {
    call.pay ? pay_for_unaudited(fx, call.task, call.run) : end_unpaid(fx, call.task, call.run);
}

}  // namespace retrace::contracts
