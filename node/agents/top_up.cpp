// SPDX-License-Identifier: MIT
#include "node/agents/top_up.hpp"

#include <algorithm>

#include "contracts/records/auctions.hpp"
#include "contracts/records/views.hpp"
#include "market/escrow.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {

namespace views = contracts::views;

Result<ToppedUp> top_up_task(Submitter& submitter, ChainReader& chain, std::uint64_t id,
                             const std::optional<ledger::U256>& wanted, std::uint32_t auctions) {
    RETRACE_TRY(state, chain.newest());
    std::optional<market::Task> task;
    std::optional<market::TaskSpec> spec;
    std::optional<market::Params> params;
    market::Auctions known;
    state.read([&] {
        task = views::task(state, id);
        spec = views::spec(state, id);
        params = views::params(state);
        if (spec) known = views::auctions_or_one(state, id, *spec);
    });
    if (state.failure()) return error(state.failure()->message);
    const std::string name = "task " + std::to_string(id);
    if (!task || !spec || !params) return error("there is no " + name);
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
    RETRACE_CHECK(submitter.execute("top up " + name, contracts::TopUpTask{id, ceiling, auctions}, price.total()));
    return ToppedUp{ceiling, static_cast<std::uint32_t>(asked + auctions), price.total()};
}

}  // namespace retrace::node
