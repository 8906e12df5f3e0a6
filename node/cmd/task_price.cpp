// SPDX-License-Identifier: MIT
// The price, the stake and the odds of a task for `retrace task plan`.
#include <boost/json/object.hpp>
#include <iomanip>
#include <sstream>

#include "contracts/records/views.hpp"
#include "market/odds.hpp"
#include "market/price_curve.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/task_plan.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/group_task.hpp"

namespace retrace::node::cli {
namespace {

market::TaskSpec terms_of(const TaskFile& task) {
    market::TaskSpec spec;
    spec.steps = task.group ? (task.group->regions != 0 ? 2 : 1) * task.group->rounds + 1 : task.steps;
    spec.interval = task.group ? 1 : task.interval;
    spec.price_ceiling = task.price_ceiling;
    spec.last_ceiling = task.last_ceiling;
    spec.auctions = task.auctions;
    spec.pause_blocks = task.pause_blocks;
    spec.audit_bp = task.audit_bp;
    spec.auditors = task.auditors;
    spec.replicas = task.group ? static_cast<std::uint8_t>(task.group->members) : task.replicas;
    return spec;
}

struct Chain {
    market::Params params;
    std::optional<std::size_t> auditors;
};

/// Returns the parameters of the chain, or those of a new one.
Result<Chain> chain_of(ChainReader* chain, const market::TaskSpec& spec) {
    if (chain == nullptr) return Chain{};
    RETRACE_TRY(state, chain->newest());
    const auto params = contracts::views::params(state);
    if (state.failure()) return error(state.failure()->message);
    if (!params) return error("the node at " + chain->client().url() + " has no Retrace contracts");
    const std::size_t auditors = possible_auditors(state, *params, spec, ledger::Address{});
    if (state.failure()) return error(state.failure()->message);
    return Chain{*params, auditors};
}

}  // namespace

std::string amount(std::uint64_t bytes) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1);
    if (bytes >= 1ull << 30) {
        out << static_cast<double>(bytes) / (1ull << 30) << " GiB";
    } else {
        out << static_cast<double>(bytes) / (1ull << 20) << " MiB";
    }
    return out.str();
}

Result<Price> price_of(TaskFile& task, const TaskPlanFlags& flags) {
    std::unique_ptr<ChainSession> at;
    if (!flags.chain.node.url.empty()) {
        RETRACE_TRY(opened, flags.chain.open());
        at = std::move(opened);
    }
    RETRACE_CHECK(flags.auctions.apply(task, at ? &at->chain : nullptr));
    const market::TaskSpec spec = terms_of(task);
    RETRACE_TRY(chain, chain_of(at ? &at->chain : nullptr, spec));
    const market::Params& params = chain.params;
    const auto escrow = market::escrow_of(spec, params);
    if (!escrow) return error("price_ceiling is too large");
    const auto chance = market::effective_audit_probability(spec.audit_bp, params.collusion_bp, spec.auditors);
    const auto found = [&](std::uint64_t bad) { return static_cast<double>(market::detection_ppm(chance, bad)) / 1e6; };
    const auto stake_at = [&](const ledger::U256& ceiling) {
        TaskFile priced = task;
        priced.price_ceiling = ceiling;
        auto stake = market::stake_floor(params, terms_of(priced));
        if (stake) *stake += rollback_stake_of(priced);
        return stake;
    };
    Price out{spec.segments(),
              *escrow,
              stake_at(spec.price_ceiling),
              market::audit_cost_bp(params, spec),
              found(1),
              found(10),
              chain.auditors,
              {}};
    const market::Auctions auctions{spec.price_ceiling, {}, 0, 0};
    for (std::uint32_t failed = 0; failed < spec.auctions; ++failed) {
        const ledger::U256 ceiling = market::ceiling_after(spec, auctions, failed);
        out.auctions.push_back(
            {ceiling, stake_at(ceiling),
             (failed + 1) * (params.bid_blocks + params.reveal_blocks) + failed * spec.pause_blocks});
    }
    return out;
}

std::string auctions_of(const Price& price) {
    std::string out = std::to_string(price.auctions.size()) +
                      (price.auctions.size() == 1 ? " auction" : " auctions, as long as too few solvers bid");
    const PlannedAuction& first = price.auctions.front();
    if (price.auctions.back().ceiling == first.ceiling)
        return out + ", each of " + std::to_string(first.ends_after) + " blocks";
    for (std::size_t i = 0; i < price.auctions.size(); ++i) {
        const PlannedAuction& auction = price.auctions[i];
        out += "\n             " + std::to_string(i + 1) + ": at most " + describe_coins(auction.ceiling) +
               " a segment, a bid locks " +
               (auction.stake ? describe_coins_needed(*auction.stake) : std::string("more than there can be")) +
               "; over after " + std::to_string(auction.ends_after) + " blocks";
    }
    return out;
}

boost::json::array json_of_auctions(const Price& price) {
    namespace json = boost::json;
    json::array out;
    for (const PlannedAuction& auction : price.auctions)
        out.push_back(
            json::object{{"ceiling", auction.ceiling.to_decimal()},
                         {"stake", auction.stake ? json::value(auction.stake->to_decimal()) : json::value(nullptr)},
                         {"ends_after", auction.ends_after}});
    return out;
}

std::string auditors_of(const TaskFile& task, const Price& price) {
    if (price.auditors) return describe_auditors(*price.auditors, task);
    return task.allow_unaudited ? "where nobody can be drawn, segments are paid though nobody audited them"
                                : "where fewer than " + std::to_string(task.auditors) +
                                      " auditors could be drawn, segments wait unpaid until you decide";
}

std::string chances_of(const Price& price) {
    if (!price.can_audit())
        return "the probability that a bad segment is detected is unknown, because no auditor can be drawn";
    std::ostringstream out;
    out << std::setprecision(3) << "one bad segment is found with " << 100 * price.found_one << " %, ten with "
        << 100 * price.found_ten << " %; the first and the last are always audited";
    return out.str();
}

}  // namespace retrace::node::cli
