// SPDX-License-Identifier: MIT
#include "node/server/config/params_json.hpp"

#include <boost/json/array.hpp>
#include <type_traits>

#include "kernels/commit/contract.hpp"
#include "node/server/config/json_fields.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using market::Params;

/// Calls visit(name, field) for every field that a genesis file may set.
void each_field(auto& p, const auto& visit) {
    visit("developer_chain", p.developer_chain);
    visit("epoch_blocks", p.epoch_blocks);
    visit("bid_blocks", p.bid_blocks);
    visit("reveal_blocks", p.reveal_blocks);
    visit("accept_blocks", p.accept_blocks);
    visit("checkpoint_blocks", p.checkpoint_blocks);
    visit("open_blocks", p.open_blocks);
    visit("verdict_blocks", p.verdict_blocks);
    visit("reveal_segment_blocks", p.reveal_segment_blocks);
    visit("reveal_verdict_blocks", p.reveal_verdict_blocks);
    visit("challenge_blocks", p.challenge_blocks);
    visit("deliver_blocks", p.deliver_blocks);
    visit("answer_blocks", p.answer_blocks);
    visit("unbond_blocks", p.unbond_blocks);
    visit("move_blocks", p.move_blocks);
    visit("moves", p.moves);
    visit("bid_deposit", p.bid_deposit);
    visit("min_verifier_stake", p.min_verifier_stake);
    visit("min_solver_stake", p.min_solver_stake);
    visit("audit_bond", p.audit_bond);
    visit("challenge_bond", p.challenge_bond);
    visit("report_fee", p.report_fee);
    visit("audit_fee", p.audit_fee);
    visit("beacon_penalty", p.beacon_penalty);
    visit("audit_fee_bp", p.audit_fee_bp);
    visit("challenger_share_bp", p.challenger_share_bp);
    visit("silence_penalty_bp", p.silence_penalty_bp);
    visit("solver_cost_bp", p.solver_cost_bp);
    visit("safety_bp", p.safety_bp);
    visit("collusion_bp", p.collusion_bp);
    visit("redraws", p.redraws);
    visit("rounds", p.rounds);
    visit("reports", p.reports);
    visit("capability_blocks", p.capability_blocks);
    visit("capability_rest_blocks", p.capability_rest_blocks);
    visit("capability_penalty", p.capability_penalty);
    visit("capability_bp", p.capability_bp);
    visit("capability_slack_bp", p.capability_slack_bp);
    visit("capability_draws", p.capability_draws);
    visit("unaudited_blocks", p.unaudited_blocks);
}

}  // namespace

Params default_params() {
    Params params;
    params.contract_hash = kernels::contract_hash();
    return params;
}

Result<Params> params_from_json(const json::object& object) {
    Params params = default_params();
    std::size_t known = 0;
    std::string problem;
    each_field(params, [&](const char* name, auto& field) {
        const json::value* value = object.if_contains(name);
        if (value == nullptr) return;
        ++known;
        if (!read_field(*value, field) && problem.empty()) problem = std::string(name) + " must be " + wanted(field);
    });
    if (!problem.empty()) return error("genesis: contracts." + problem);
    if (known != object.size()) {
        for (const auto& member : object) {
            bool found = false;
            std::string names;
            each_field(params, [&](const char* name, auto&) {
                found = found || member.key() == name;
                names += (names.empty() ? "" : ", ") + std::string(name);
            });
            if (!found)
                return error("genesis: contracts." + std::string(member.key()) + " is not a parameter; there are " +
                             names);
        }
    }
    if (const auto right = market::check(params); !right) {
        // "contract parameters: NAME must be …"; the path with a point lets the reader find the line.
        const std::string& message = right.error().message;
        return error("genesis: contracts." + message.substr(message.find(": ") + 2));
    }
    return params;
}

json::object params_to_json(const Params& params) {
    json::object out;
    each_field(params, [&](const char* name, const auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, ledger::U256>)
            out[name] = format_coins(field);
        else
            out[name] = field;
    });
    return out;
}

}  // namespace retrace::node
