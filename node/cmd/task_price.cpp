// SPDX-License-Identifier: MIT
// The price, the stake and the odds of a task for `retrace task plan`.
#include <iomanip>
#include <sstream>

#include "contracts/records/views.hpp"
#include "market/odds.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/task_plan.hpp"
#include "node/tasks/group_task.hpp"

namespace retrace::node::cli {
namespace {

market::TaskSpec terms_of(const TaskFile& task) {
    market::TaskSpec spec;
    spec.steps = task.group ? task.group->rounds + 1 : task.steps;
    spec.interval = task.group ? 1 : task.interval;
    spec.price_ceiling = task.price_ceiling;
    spec.audit_bp = task.audit_bp;
    spec.auditors = task.auditors;
    spec.replicas = task.group ? static_cast<std::uint8_t>(task.group->members) : task.replicas;
    return spec;
}

struct Chain {
    market::Params params;
    std::optional<std::size_t> auditors;
};

/// Returns the parameters of the chain behind the node, or those of a new chain.
Result<Chain> chain_of(const ChainOptions& options, const market::TaskSpec& spec) {
    if (options.node.url.empty()) return Chain{};
    RETRACE_TRY(at, options.open());
    RETRACE_TRY(state, at->chain.newest());
    const auto params = contracts::views::params(state);
    if (state.failure()) return error(state.failure()->message);
    if (!params) return error("the node at " + options.node.url + " has no Retrace contracts");
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

Result<Price> price_of(const TaskFile& task, const ChainOptions& options) {
    const market::TaskSpec spec = terms_of(task);
    RETRACE_TRY(chain, chain_of(options, spec));
    const market::Params& params = chain.params;
    const auto escrow = market::escrow_of(spec, params);
    if (!escrow) return error("price_ceiling is too large");
    const auto chance = market::effective_audit_probability(spec.audit_bp, params.collusion_bp, spec.auditors);
    const auto found = [&](std::uint64_t bad) { return static_cast<double>(market::detection_ppm(chance, bad)) / 1e6; };
    auto stake = market::stake_floor(params, spec);
    if (stake) *stake += rollback_stake_of(task);
    return Price{spec.segments(), *escrow,   stake,         market::audit_cost_bp(params, spec),
                 found(1),        found(10), chain.auditors};
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
