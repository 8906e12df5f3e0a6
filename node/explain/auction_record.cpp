// SPDX-License-Identifier: MIT
#include "node/explain/auction_record.hpp"

#include <algorithm>
#include <map>

#include "contracts/records/rollback_views.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using contracts::CallStatus;

OtherSolvers examine_others(const ledger::StateView& view, const market::Params& params, const market::Task& task,
                            std::size_t most) {
    OtherSolvers out;
    std::map<std::uint32_t, std::uint64_t> obstacles;
    for (const ledger::Address& solver : views::solvers(view)) {
        if (std::find(task.bidders.begin(), task.bidders.end(), solver) != task.bidders.end()) continue;
        ++out.registered;
        if (out.examined == most) continue;
        ++out.examined;
        const std::vector<CallStatus> rules = views::bid_obstacles(view, task.id, solver);
        if (rules.empty()) ++out.free;
        for (const CallStatus rule : rules) ++obstacles[static_cast<std::uint32_t>(rule)];
        if (std::find(rules.begin(), rules.end(), CallStatus::stake_too_low) != rules.end())
            out.most_stake = std::max(out.most_stake, views::free_stake(view, params, solver));
    }
    for (const auto& [rule, solvers] : obstacles) out.obstacles.push_back({rule, solvers});
    return out;
}

}  // namespace

bool OtherSolvers::meets(CallStatus rule) const {
    return std::any_of(obstacles.begin(), obstacles.end(),
                       [&](const RuleCount& count) { return count.rule == static_cast<std::uint32_t>(rule); });
}

std::optional<AuctionRecord> examine_auction(const ledger::StateView& view, std::uint64_t id, std::uint64_t height,
                                             bool closed, std::size_t solvers) {
    const auto task = views::task(view, id);
    const auto spec = views::spec(view, id);
    const auto params = views::params(view);
    if (!task || !spec || !params) return std::nullopt;
    AuctionRecord out;
    out.task = id;
    out.round = task->round;
    out.height = height;
    out.price_ceiling = spec->price_ceiling;
    const auto floor = views::stake_floor(view, *params, id);
    out.has_stake_floor = floor.has_value();
    out.stake_floor = floor.value_or(ledger::U256());
    out.bids = views::explain_bids(view, id, closed).value_or(std::vector<views::ExplainedBid>{});
    const bool won = std::any_of(out.bids.begin(), out.bids.end(),
                                 [](const views::ExplainedBid& bid) { return bid.outcome == views::BidOutcome::won; });
    if (!won) out.others = examine_others(view, *params, *task, solvers);
    return out;
}

}  // namespace retrace::node
