// SPDX-License-Identifier: MIT
// SPEC 12.2. The requester cancels a task that was never assigned.
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/places.hpp"

namespace retrace::contracts {
namespace {

/// Burns of the escrow what it costs that the bids of the open auction locked stake for nothing (market 12.8).
void pay_for_locks(Effects& fx, market::Task& task) {
    U256 locked;
    for (const Address& bidder : task.bidders)
        locked += must_load<market::Bid>(fx.state, keys::bid(task.id, bidder)).locked;
    const U256 amount = ledger::min(market::cancel_fee(locked), task.escrow);
    if (amount.is_zero()) return;
    task.escrow -= amount;
    burn_held(fx, Contract::market, amount);
    fx.emit(PlacePaid{task.id, task.requester, amount});
}

}  // namespace

CallStatus check(const CancelTask&) { return CallStatus::ok; }

CallStatus admit(const CancelTask& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                               // 12.2.1
    if (task->requester != context.sender) return CallStatus::not_requester;  // 12.2.2
    // 12.2.3: this includes a successor's auction; payments already made are kept.
    if (!market::next(task->state, market::TaskEvent::cancel)) return CallStatus::wrong_task_state;
    // 12.2.4: who has read the prices must not post again at the lowest one.
    if (!task->bidders.empty() && context.height >= task->bid_end) return CallStatus::too_late;
    return CallStatus::ok;
}

void apply(const CancelTask& call, const TxContext&, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    pay_for_locks(fx, task);
    return_bids(fx, task, true);
    task.wanted = 0;
    move_task(fx, task, market::TaskEvent::cancel);
    end_task(fx, task);
}

}  // namespace retrace::contracts
