// SPDX-License-Identifier: MIT
#include "node/agents/top_up.hpp"

#include <algorithm>

#include "contracts/records/auctions.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/views.hpp"
#include "market/escrow.hpp"
#include "node/agents/call_checks.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {

namespace views = contracts::views;
using market::TaskState;

namespace {

/// What the task's place lacks so that all these auctions can come, also if a run that has begun lasts to its end.
ledger::U256 rent_for(const ledger::StateView& state, const market::Params& params, const market::Task& task,
                      std::uint64_t pause_blocks, std::uint64_t height, std::uint64_t auctions) {
    constexpr std::uint64_t kSlack = 100;  // Blocks until the call is in one.
    std::uint64_t ends = height + kSlack;
    for (const std::uint32_t index : task.active)
        if (const auto run = views::run(state, task.id, index)) ends = std::max(ends, run->finish_height);
    return views::missing_rent(state, task, views::last_auction_begins(params, task, pause_blocks, ends, auctions));
}

}  // namespace

Result<ToppedUp> top_up_task(Submitter& submitter, ChainReader& chain, std::uint64_t id,
                             const std::optional<ledger::U256>& wanted, std::uint32_t auctions) {
    RETRACE_TRY(state, chain.newest());
    std::optional<market::Task> task;
    std::optional<market::TaskSpec> spec;
    std::optional<market::Params> params;
    market::Auctions known;
    ledger::U256 rent;
    state.read([&] {
        task = views::task(state, id);
        spec = views::spec(state, id);
        params = views::params(state);
        if (spec) known = views::auctions_or_one(state, id, *spec);
        if (task && params && spec)
            rent = rent_for(state, *params, *task, spec->pause_blocks, state.height(),
                            std::uint64_t{known.left} + auctions);
    });
    if (state.failure()) return error(state.failure()->message);
    const std::string name = "task " + std::to_string(id);
    if (!task || !spec || !params) return error("there is no " + name);
    RETRACE_CHECK(
        check_task_state(*task, "be topped up", {TaskState::bidding, TaskState::assigned, TaskState::running}));
    const std::uint64_t asked = known.left;
    const std::uint64_t left = params->rounds - std::min<std::uint64_t>(params->rounds, task->round + asked);
    if (auctions > left)
        return error(name + " may have " + std::to_string(left) + " more auctions (--auctions): it has had " +
                     std::to_string(task->round) + " of " + std::to_string(params->rounds));
    const ledger::U256 least = std::max(spec->price_ceiling, known.least);
    const ledger::U256 ceiling = wanted.value_or(least);
    if (ceiling < least)
        return error("the ceiling of the next auction is " + describe_coins(least) +
                     " already, and only rises (--ceiling)");
    spec->price_ceiling = market::covered_ceiling(*spec, known);
    const auto price = market::escrow_of_top_up(*spec, *params, task->first_state, ceiling);
    const contracts::TopUpTask call{id, ceiling, auctions};
    RETRACE_CHECK(submitter.execute("top up " + name, call, price.total() + rent));
    return ToppedUp{ceiling, static_cast<std::uint32_t>(asked + auctions), price.total(), rent};
}

}  // namespace retrace::node
