// SPDX-License-Identifier: MIT
#include "contracts/executor.hpp"

#include "contracts/calls/gas.hpp"
#include "contracts/calls/validator_message.hpp"
#include "contracts/dispatch.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/lifecycle/staking/validators.hpp"
#include "contracts/records/methods.hpp"
#include "contracts/scheduler.hpp"
#include "merkle/base/non_fatal.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::contracts {
namespace {

std::optional<Contract> contract_at(const ledger::Address& address) {
    for (const Contract contract : kContracts)
        if (address_of(contract) == address) return contract;
    return std::nullopt;
}

std::uint64_t read_gas(View data) { return kViewGas + kGasByte * data.size(); }

ledger::CallResult refusal(const Outcome& outcome) {
    ledger::CallResult result;
    result.gas_used = outcome.gas;
    result.output = calldata(Refused{static_cast<std::uint16_t>(outcome.status), std::string(slug(outcome.status))});
    result.revert_reason = reason(outcome.status);
    if (!outcome.detail.empty()) result.revert_reason += " (" + outcome.detail + ")";
    return result;
}

/// Returns the refusal of a view call that may not read any record.
std::optional<ledger::CallResult> refused_read(const ledger::Call& call) {
    if (call.gas < read_gas(call.data)) return refusal({CallStatus::out_of_gas, {}, call.gas});
    if (!call.value.is_zero()) return refusal({CallStatus::not_payable, {}, read_gas(call.data)});
    return std::nullopt;
}

Params params_of(const ledger::StateView& view) { return must_load<Params>(view, keys::params()); }

}  // namespace

bool Executor::is_contract(const ledger::Address& address) const { return contract_at(address).has_value(); }

std::uint64_t Executor::gas_of(const ledger::Address& address, View data) const {
    const auto contract = contract_at(address);
    ensure(contract.has_value(), "only native contracts have a price");
    return is_view(*contract, data) ? read_gas(data) : gas_needed(*contract, data);
}

bool Executor::is_awaited(const ledger::StateView& view, std::uint64_t height, const ledger::Call& call) const {
    return call.to == address_of(Contract::staking) && is_awaited_reveal(call, height, view);
}

ledger::CallResult Executor::call(ledger::State& state, const ledger::BlockContext& block,
                                  const ledger::Call& call) const {
    const auto contract = contract_at(call.to);
    ensure(contract.has_value(), "only calls of native contracts reach the executor");
    if (is_view(*contract, call.data)) {
        if (const auto refused = refused_read(call)) return *refused;
        return {true, {}, read_gas(call.data), {}, {}};  // 6.5: a transaction gets no answer back
    }
    const Params params = params_of(state);
    Effects fx{state, params, block.height, {}};
    const ledger::State::Mark mark = state.mark();
    try {
        const NonFatalScope scope;
        const Outcome outcome = dispatch(*contract, call, fx);
        if (outcome.status == CallStatus::ok) return {true, {}, outcome.gas, std::move(fx.logs), {}, outcome.is_free};
        state.revert(mark);
        return refusal(outcome);
    } catch (const BrokenInvariant& broken) {  // 8.3
        state.revert(mark);
        return refuse_broken(call, broken.what());
    }
}

ledger::CallResult Executor::refuse_broken(const ledger::Call& call, const std::string& what) const {
    if (on_broken_) on_broken_(what);
    return refusal({CallStatus::rules_broken, {}, std::min(call.gas, gas_of(call.to, call.data))});
}

ledger::CallResult Executor::view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                       const ledger::Call& call) const {
    const auto contract = contract_at(call.to);
    ensure(contract.has_value(), "only calls of native contracts reach the executor");
    if (is_view(*contract, call.data)) {
        if (const auto refused = refused_read(call)) return *refused;
        auto answer = answer_view(*contract, call.data, view);
        ensure(answer.has_value(), "a view method has an answer");
        if (answer->status != CallStatus::ok) return refusal({answer->status, {}, read_gas(call.data)});
        return {true, std::move(answer->output), read_gas(call.data), {}, {}};
    }
    ledger::State scratch(view);
    return Executor().call(scratch, block, call);  // Without a handler: a query may assume any state.
}

std::vector<ledger::Log> Executor::begin_block(ledger::State& state, const ledger::BlockContext& block) const {
    const Params params = params_of(state);
    Effects fx{state, params, block.height, {}};
    isolate(fx, on_broken_, [](Effects& inner) { upgrade_if_due(inner); });
    run_scheduler(fx, on_broken_);
    isolate(fx, on_broken_, [](Effects& inner) { elect_validators(inner); });
    return std::move(fx.logs);
}

std::vector<ledger::Log> Executor::engine_report(ledger::State& state, const ledger::BlockContext& block,
                                                 const ledger::EngineReport& report) const {
    if (!views::validator_rules(state)) return {};
    const Params params = params_of(state);
    Effects fx{state, params, block.height, {}};
    isolate(fx, on_broken_, [&](Effects& inner) { note_missed_votes(inner, report.missed); });
    isolate(fx, on_broken_, [&](Effects& inner) { punish_misbehavior(inner, report.misbehavior); });
    isolate(fx, on_broken_, [&](Effects& inner) { note_shares(inner, block.chain_id, report.shares); });
    return std::move(fx.logs);
}

std::vector<ledger::Validator> Executor::validators(const ledger::StateView& view) const {
    std::vector<ledger::Validator> out;
    for (const SetMember& member : views::validator_set(view))
        out.push_back({member.key, member.account, member.power, {}});
    return out;
}

std::optional<ledger::Validator> Executor::validator_of(const ledger::StateView& view,
                                                        const ledger::ConsensusAddress& address) const {
    const auto known = views::registered_key(view, address);
    if (!known) return std::nullopt;
    ledger::Validator out{known->key, known->account, 0, {}};
    if (known->vrf_key.size() == out.vrf_key.bytes.size()) std::ranges::copy(known->vrf_key, out.vrf_key.bytes.begin());
    return out;
}

std::optional<std::string> Executor::missing_rules(const ledger::StateView& view, std::uint64_t height) const {
    const std::uint64_t needed = rules_version_at(view, height);
    if (needed <= version_) return std::nullopt;
    return "block " + std::to_string(height) + " is executed by version " + std::to_string(needed) +
           " of the rules, and this program has version " + std::to_string(version_) +
           ": install a newer one and start it on the same data directory";
}

std::optional<Bytes> Executor::share_input(std::uint64_t chain_id, std::uint64_t height) const {
    return beacon_share_message(chain_id, height);
}

bool Executor::takes_shares(const ledger::StateView& view, std::uint64_t height) const {
    return height > 1 && views::validator_rules(view) && height % params_of(view).epoch_blocks == 0;
}

void Executor::genesis_validators(ledger::State& state, std::span<const ledger::Validator> founders, View rules) const {
    const auto decoded = market::decode_validator_rules(rules);
    ensure(decoded.has_value(), "the rules of validators were checked when the genesis file was read");
    found_validators(state, founders, *decoded);
}

void Executor::genesis(ledger::State& state, View config) const {
    const auto params = market::decode_params(config);
    ensure(params.has_value(), "genesis parameters were checked when the genesis file was read");
    store(state, keys::params(), *params);
    constexpr std::string_view kDomain = "retrace/beacon-genesis/1";
    const views::Beacon first{0, merkle::sha256({retrace::view(kDomain), config})};
    store(state, keys::beacon(), first);
    store_mixed(state, first.epoch, first.value, {});
}

std::optional<std::string> Executor::broken_invariant(const ledger::StateView& before,
                                                      const ledger::State& after) const {
    return contracts::broken_invariant(before, after);
}

}  // namespace retrace::contracts
