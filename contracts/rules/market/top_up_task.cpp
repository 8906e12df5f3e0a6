// SPDX-License-Identifier: MIT
// SPEC 12.10. The requester of an open task adds to its escrow, for a higher ceiling and more auctions.
#include "contracts/lifecycle/market/posting.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

/// What such a call brings (market 6.7).
market::Escrow price_of(TaskSpec spec, const market::Auctions& auctions, const Params& params, const market::Task& task,
                        const U256& ceiling) {
    spec.price_ceiling = market::covered_ceiling(spec, auctions);
    return market::escrow_of_top_up(spec, params, task.first_state, ceiling);
}

bool is_open(TaskState state) {
    return state == TaskState::bidding || state == TaskState::assigned || state == TaskState::running;
}

}  // namespace

CallStatus check(const TopUpTask& call) {
    if (!below_2_128(call.ceiling)) return CallStatus::price_too_high;  // 12.10.1
    return CallStatus::ok;
}

CallStatus admit(const TopUpTask& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                               // 12.10.2
    if (task->requester != context.sender) return CallStatus::not_requester;  // 12.10.3
    if (views::is_group(view, call.task)) return CallStatus::group_task;      // 12.10.4
    if (!is_open(task->state)) return CallStatus::wrong_task_state;           // 12.10.5
    auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    const auto known = views::auctions_or_one(view, call.task, spec);
    if (call.ceiling < std::max(spec.price_ceiling, known.least)) return CallStatus::price_under_ceiling;  // 12.10.6
    const std::uint64_t auctions = std::uint64_t{task->round} + known.left + call.auctions;
    if (auctions > context.params.rounds) return CallStatus::rounds_used_up;  // 12.10.7
    const auto price = price_of(spec, known, context.params, *task, call.ceiling);
    if (context.value < price.total()) return CallStatus::wrong_value;  // 12.10.8
    // 12.10.11: it must not ask for auctions that never come.
    const std::uint64_t more = std::uint64_t{known.left} + call.auctions;
    const std::uint64_t begins =
        views::last_auction_begins(context.params, *task, spec.pause_blocks, context.height, more);
    const U256 rent = views::missing_rent(view, *task, begins);
    if (context.value - price.total() < rent) return CallStatus::wrong_value;
    spec.price_ceiling = call.ceiling;
    if (!market::stake_floor(context.params, spec)) return CallStatus::no_stake_suffices;  // 12.10.9
    return CallStatus::ok;
}

void apply(const TopUpTask& call, const TxContext& context, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(call.task));
    auto auctions = views::auctions_or_one(fx.state, call.task, spec);
    const auto price = price_of(spec, auctions, fx.params, task, call.ceiling);
    auctions.least = call.ceiling;
    auctions.left += call.auctions;
    task.escrow += price.work;
    task.audit_budget += price.audits;
    store(fx.state, keys::task(call.task), task);
    store(fx.state, keys::auctions(call.task), auctions);
    fx.emit(TaskToppedUp{call.task, task.requester, call.ceiling, auctions.left, price.total()});
    lengthen_place(fx, task, context.value - price.total());
}

}  // namespace retrace::contracts
