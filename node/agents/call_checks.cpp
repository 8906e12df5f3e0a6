// SPDX-License-Identifier: MIT
#include "node/agents/call_checks.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"
#include "market/places.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using market::TaskState;

Result<market::Task> task_of(const RemoteState& state, std::uint64_t id) {
    std::optional<market::Task> task;
    state.read([&] { task = views::task(state, id); });
    if (state.failure()) return error(state.failure()->message);
    if (!task) return error("there is no task " + std::to_string(id));
    return *task;
}

}  // namespace

Status<> check_task_state(const market::Task& task, std::string_view what, std::initializer_list<TaskState> allowed) {
    if (std::find(allowed.begin(), allowed.end(), task.state) != allowed.end()) return Unit{};
    std::string states;
    for (auto at = allowed.begin(); at != allowed.end(); ++at) {
        if (at != allowed.begin()) states += at + 1 == allowed.end() ? " or " : ", ";
        states += market::slug(*at);
    }
    return error("task " + std::to_string(task.id) + " is " + std::string(market::slug(task.state)) + ", and can " +
                 std::string(what) + " only while it is " + states);
}

Status<> check_task_state(ChainReader& chain, std::uint64_t id, std::string_view what,
                          std::initializer_list<TaskState> allowed) {
    RETRACE_TRY(state, chain.newest());
    RETRACE_TRY(task, task_of(state, id));
    return check_task_state(task, what, allowed);
}

Result<ledger::U256> cost_of_cancel(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    RETRACE_TRY(task, task_of(state, id));
    RETRACE_CHECK(check_task_state(task, "be cancelled", {TaskState::bidding}));
    if (!task.bidders.empty() && state.height() + 1 >= task.bid_end)
        return error("task " + std::to_string(id) +
                     " has bids that are being revealed: it cannot be cancelled before " +
                     "the auction ends at block " + std::to_string(task.reveal_end));
    ledger::U256 locked;
    state.read([&] {
        locked = {};
        for (const ledger::Address& bidder : task.bidders)
            if (const auto bid = views::bid(state, id, bidder)) locked += bid->locked;
    });
    if (state.failure()) return error(state.failure()->message);
    return ledger::min(market::cancel_fee(locked), task.escrow);
}

Status<> check_nothing_unbonds(ChainReader& chain, const ledger::Address& account) {
    RETRACE_TRY(state, chain.newest());
    market::Stake stake;
    std::optional<market::Params> params;
    state.read([&] {
        stake = views::stake(state, account);
        params = views::params(state);
    });
    if (state.failure()) return error(state.failure()->message);
    if (stake.unbonding.is_zero() || !params) return Unit{};
    const std::string again = " would wait for another " + std::to_string(params->unbond_blocks) + " blocks with it: ";
    if (stake.unbond_height <= state.height())
        return error(describe_coins(stake.unbonding) + " that are free now" + again +
                     "take them out first (`retrace stake withdraw`), or say --restart-wait");
    return error(describe_coins(stake.unbonding) + " that are free at block " + std::to_string(stake.unbond_height) +
                 again + "take them out then (`retrace stake withdraw`), or say --restart-wait");
}

}  // namespace retrace::node
