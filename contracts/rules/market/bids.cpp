// SPDX-License-Identifier: MIT
// SPEC 12.3 and 12.4. Sealed bids: a commitment with a deposit and a locked stake, then the reveal.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/auction.hpp"

namespace retrace::contracts {

CallStatus check(const CommitBid& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 12.3.1
    return CallStatus::ok;
}

CallStatus admit(const CommitBid& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                                                   // 12.3.2
    if (!takes_bids(*task)) return CallStatus::wrong_task_state;                                  // 12.3.3
    if (context.height >= task->bid_end) return CallStatus::too_late;                             // 12.3.4
    if (context.height < views::bids_begin(context.params, *task)) return CallStatus::too_early;  // 12.3.16
    if (task->requester == context.sender) return CallStatus::own_task;                           // 12.3.5
    const auto& out = task->excluded;
    if (std::find(out.begin(), out.end(), context.sender) != out.end()) return CallStatus::excluded;  // 12.3.6
    if (!views::may_take_part(view, call.task, context.sender)) return CallStatus::not_admitted;      // 21.13.2
    const auto solver = views::solver(view, context.sender);
    if (!solver) return CallStatus::not_registered;  // 12.3.7
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (spec.hardware_class != 0 && spec.hardware_class != solver->hardware_class)
        return CallStatus::wrong_hardware;                                            // 12.3.8
    if (context.value < context.params.bid_deposit) return CallStatus::wrong_value;   // 12.3.9
    if (views::bid(view, call.task, context.sender)) return CallStatus::already_bid;  // 12.3.10
    const auto fee = views::bid_place_fee(view, context.params, *task);
    if (!fee) return CallStatus::auction_full;                                              // 12.3.11
    if (context.value < context.params.bid_deposit + *fee) return CallStatus::wrong_value;  // 12.3.15
    // 12.3.12: each of the sender's bids may win, and all auctions may end before the first run is over.
    if (views::open_work(view, context.sender) >= market::kOpenItemsMax) return CallStatus::too_many_open;
    if (run_of_solver(view, call.task, context.sender)) return CallStatus::already_running;  // 12.3.13
    // 12.3.14: the stake is locked from the commitment on, so that slashes and withdrawals of other stake cannot
    // prevent the reveal.
    const auto floor = views::stake_floor(view, context.params, call.task);
    if (!floor || views::free_stake(view, context.params, context.sender) < *floor) return CallStatus::stake_too_low;
    return CallStatus::ok;
}

void apply(const CommitBid& call, const TxContext& context, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    const U256 fee = views::bid_place_fee(fx.state, fx.params, task).value();
    task.bidders.push_back(context.sender);
    store(fx.state, keys::task(call.task), task);
    market::Bid bid;
    bid.commitment = call.commitment;
    bid.deposit = fx.params.bid_deposit + fee;
    pay(fx, Contract::market, context.sender, context.value - bid.deposit);
    bid.locked = views::stake_floor(fx.state, fx.params, call.task).value();
    store(fx.state, keys::bid(call.task, context.sender), bid);
    store(fx.state, keys::bid_work(call.task, context.sender), Counter{backlog(fx.state, context.sender).total});
    lock(fx, context.sender, bid.locked);
    store(fx.state, keys::open_bids(context.sender), Counter{views::open_bids(fx.state, context.sender) + 1});
    fx.emit(BidCommitted{call.task, context.sender, task.round});
}

CallStatus check(const RevealBid& call) {
    if (call.price.is_zero()) return CallStatus::price_zero;  // 12.4.1
    return CallStatus::ok;
}

CallStatus admit(const RevealBid& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                           // 12.4.2
    if (!takes_bids(*task)) return CallStatus::wrong_task_state;          // 12.4.3
    if (context.height < task->bid_end) return CallStatus::too_early;     // 12.4.4
    if (context.height >= task->reveal_end) return CallStatus::too_late;  // 12.4.5
    const auto bid = views::bid(view, call.task, context.sender);
    if (!bid) return CallStatus::not_bid;                    // 12.4.6
    if (bid->revealed) return CallStatus::already_revealed;  // 12.4.7
    if (market::bid_commitment(call.task, task->round, call.price, call.finish_height, call.salt, context.sender) !=
        bid->commitment)
        return CallStatus::wrong_opening;  // 12.4.8
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (call.price > spec.price_ceiling) return CallStatus::price_over_ceiling;  // 12.4.9
    if (call.finish_height <= task->reveal_end || call.finish_height > task->reveal_end + spec.finish_blocks)
        return CallStatus::finish_out_of_range;  // 12.4.10
    return CallStatus::ok;
}

void apply(const RevealBid& call, const TxContext& context, Effects& fx) {
    auto bid = must_load<market::Bid>(fx.state, keys::bid(call.task, context.sender));
    bid.revealed = true;
    bid.price = call.price;
    bid.finish_height = call.finish_height;
    store(fx.state, keys::bid(call.task, context.sender), bid);
    fx.emit(BidRevealed{call.task, context.sender, bid.price, bid.finish_height, bid.locked});
}

}  // namespace retrace::contracts
