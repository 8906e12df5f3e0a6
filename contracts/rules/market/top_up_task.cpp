// SPDX-License-Identifier: MIT
// SPEC 12.10. The requester of an open task adds to its escrow, for a higher ceiling and more auctions.
#include "contracts/lifecycle/market/posting.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/odds.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

/// The task's terms with the ceiling that its next auction has.
TaskSpec next_terms(const StateView& view, std::uint64_t task) {
    auto spec = must_load<TaskSpec>(view, keys::spec(task));
    if (const auto before = views::top_up(view, task)) spec.price_ceiling = before->ceiling;
    return spec;
}

std::uint32_t auctions_before(const StateView& view, std::uint64_t task) {
    return views::top_up(view, task).value_or(market::TopUp{}).auctions;
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
    TaskSpec spec = next_terms(view, call.task);
    if (call.ceiling < spec.price_ceiling) return CallStatus::price_under_ceiling;  // 12.10.6
    const std::uint64_t auctions = std::uint64_t{task->round} + auctions_before(view, call.task) + call.auctions;
    if (auctions > context.params.rounds) return CallStatus::rounds_used_up;  // 12.10.7
    const auto price = market::escrow_of_top_up(spec, context.params, task->first_state, call.ceiling);
    if (context.value < price.total()) return CallStatus::wrong_value;  // 12.10.8
    spec.price_ceiling = call.ceiling;
    if (!market::stake_floor(context.params, spec)) return CallStatus::no_stake_suffices;  // 12.10.9
    return CallStatus::ok;
}

void apply(const TopUpTask& call, const TxContext& context, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    const auto price =
        market::escrow_of_top_up(next_terms(fx.state, call.task), fx.params, task.first_state, call.ceiling);
    const market::TopUp now{call.ceiling, auctions_before(fx.state, call.task) + call.auctions};
    task.escrow += price.work;
    task.audit_budget += price.audits;
    store(fx.state, keys::task(call.task), task);
    store(fx.state, keys::top_up(call.task), now);
    fx.emit(TaskToppedUp{call.task, task.requester, now.ceiling, now.auctions, price.total()});
    lengthen_place(fx, task, context.value - price.total());
}

}  // namespace retrace::contracts
