// SPDX-License-Identifier: MIT
// A chain with validators: what they register and bond, and what an engine reports about their votes.
#pragma once

#include "contracts/calls/validator_message.hpp"
#include "contracts/records/validator_views.hpp"
#include "ledger/crypto/ed25519.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {

class Validators : public MarketTest {
protected:
    static market::ValidatorRules open_rules() {
        market::ValidatorRules rules;
        rules.places = 3;
        rules.unbond_blocks = 40;
        rules.evidence_blocks = 20;
        rules.downtime_blocks = 20;
        rules.jail_blocks = 8;
        rules.downtime_bp = 100;
        return rules;
    }
    /// A chain that "alice" and "bob" founded with this power each.
    void found(const market::ValidatorRules& wanted, std::uint64_t power = kFounded) {
        found(wanted, {{"alice", power}, {"bob", power}}, small_params());
    }
    void found(const market::ValidatorRules& wanted, const std::map<std::string, std::uint64_t>& powers,
               const market::Params& with) {
        begin(with);
        rules = wanted;
        std::vector<ledger::Validator> founders;
        for (const auto& [name, power] : powers) founders.push_back({key(name), party(name), power, vrf(name).key()});
        executor.genesis_validators(state, founders, market::encode(rules));
        check_deep();
    }
    static Hash32 key(const std::string& name) { return ledger::ed25519_public_key(view(word("seed of " + name))); }
    static ledger::VrfSecret vrf(const std::string& name) {
        return *ledger::VrfSecret::from_bytes(view(word("vrf of " + name)));
    }
    /// The registration by `sender` of the keys that are called `keys`.
    static RegisterValidator registration(const std::string& sender, const std::string& keys) {
        const Bytes message = validator_key_message(party(sender));
        return {key(keys), to_bytes(ledger::ed25519_sign(view(word("seed of " + keys)), message)),
                to_bytes(vrf(keys).key().bytes), to_bytes(vrf(keys).prove(message))};
    }
    void join(const std::string& name, std::uint64_t coins) {
        ASSERT_EQ(send(name, Deposit{}, U256(coins) * kCoin), CallStatus::ok);
        ASSERT_EQ(send(name, registration(name, name)), CallStatus::ok);
        ASSERT_EQ(send(name, BondValidator{U256(coins) * kCoin}), CallStatus::ok);
    }
    void report(const ledger::EngineReport& given) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        const auto logs = executor.engine_report(next, block(), given);
        EXPECT_EQ(executor.broken_invariant(state, next), std::nullopt);
        state.apply(next.diff());
        events.insert(events.end(), logs.begin(), logs.end());
        check_deep();
    }
    static ledger::ConsensusAddress address(const std::string& name) { return ledger::consensus_address(key(name)); }
    void miss(const std::string& name, int times) {
        for (int i = 0; i < times; ++i) report({.missed = {address(name)}, .misbehavior = {}, .shares = {}});
    }
    void sign_twice(const std::string& name) {
        report({.missed = {}, .misbehavior = {{address(name), height}}, .shares = {}});
    }
    ledger::BeaconShare share(const std::string& name, std::uint64_t of_height) const {
        return {address(name), vrf(name).prove(beacon_share_message(block().chain_id, of_height))};
    }
    void share_votes(std::vector<ledger::BeaconShare> shares) {
        std::ranges::sort(shares, {}, &ledger::BeaconShare::validator);
        report({.missed = {}, .misbehavior = {}, .shares = std::move(shares)});
    }
    std::map<std::string, std::uint64_t> powers() const {
        std::map<std::string, std::uint64_t> out;
        for (const SetMember& member : views::validator_set(state)) {
            for (const char* name : {"alice", "bob", "carol", "dave", "v1", "v2", "v3", "v4"})
                if (member.account == party(name)) out[name] = member.power;
        }
        return out;
    }
    void next_epoch() {
        do next_block();
        while (height % params.epoch_blocks != 0);
    }
    market::ValidatorInfo info(const std::string& name) const { return views::validator(state, party(name)).value(); }
    U256 slashed(std::string_view reason) const {
        U256 out;
        for (const Slashed& one : all<Slashed>())
            if (one.reason == reason) out += one.amount;
        return out;
    }

    using Powers = std::map<std::string, std::uint64_t>;
    /// So much that a stranger's stake of some coins is within what one election adds.
    static constexpr std::uint64_t kFounded = 100'000;
    market::ValidatorRules rules;
};

}  // namespace retrace::contracts
