// SPDX-License-Identifier: MIT
#include "node/server/config/validators_json.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "market/validator.hpp"
#include "node/server/config/json_fields.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kOpenPlacesMin = 5;
/// Elections add up to a quarter of what votes (contracts 20.4.1), in whole units.
constexpr std::uint64_t kFounderPowerMin = 1'000;

std::string text_of(const json::object& fields, const char* name) {
    const json::string* value = fields.at(name).if_string();
    return value != nullptr ? std::string(value->data(), value->size()) : std::string();
}

Result<ledger::Validator> parse_validator(const std::string& name, const json::value& v) {
    const json::object* fields = v.if_object();
    if (fields == nullptr || fields->size() != 4 || !fields->contains("key") || !fields->contains("vrfKey") ||
        !fields->contains("account") || !fields->contains("power")) {
        return error("genesis: " + name +
                     " must be {\"key\": \"…\", \"vrfKey\": \"…\", \"account\": \"0x…\", \"power\": 1000}");
    }
    ledger::Validator out;
    const auto key = from_hex(text_of(*fields, "key"));
    if (!key || key->size() != Hash32::size())
        return error("genesis: " + name + ".key must be an ed25519 public key: 64 hex digits");
    out.key = to_hash32(*key);
    const auto vrf_key = from_hex(text_of(*fields, "vrfKey"));
    if (!vrf_key || vrf_key->size() != out.vrf_key.bytes.size())
        return error("genesis: " + name + ".vrfKey must be a compressed point of P-256: 66 hex digits");
    std::ranges::copy(*vrf_key, out.vrf_key.bytes.begin());
    if (!ledger::is_vrf_key(out.vrf_key)) return error("genesis: " + name + ".vrfKey is no point of P-256");
    const auto account = ledger::parse_address(text_of(*fields, "account"));
    if (!account) return error("genesis: " + name + ".account must be an address");
    out.account = *account;
    const json::value& power = fields->at("power");
    if (!power.is_int64() || power.get_int64() < 0) return error("genesis: " + name + ".power must be a whole number");
    out.power = static_cast<std::uint64_t>(power.get_int64());
    return out;
}

/// Calls visit(name, field) for every field that a genesis file may set.
void each_rule(market::ValidatorRules& rules, const auto& visit) {
    visit("places", rules.places);
    visit("min_stake", rules.min_stake);
    visit("unbond_blocks", rules.unbond_blocks);
    visit("evidence_blocks", rules.evidence_blocks);
    visit("downtime_blocks", rules.downtime_blocks);
    visit("jail_blocks", rules.jail_blocks);
    visit("downtime_bp", rules.downtime_bp);
    visit("double_sign_bp", rules.double_sign_bp);
}

/// Proposers with less than a third of the power may have many turns in a row, and leave somebody's transactions out of
/// all of them (threat model, open 6). A window that is as long as there are validators outlasts that.
Status<> check_windows(const ledger::Genesis& genesis, const market::ValidatorRules& rules,
                       const market::Params& params) {
    const std::uint64_t most = std::max<std::uint64_t>(rules.places, genesis.validators.size());
    const std::pair<const char*, std::uint64_t> windows[] = {
        {"epoch_blocks", params.epoch_blocks - 1},  // A reveal is not in the first block (contracts 11.3.5).
        {"bid_blocks", params.bid_blocks},
        {"reveal_blocks", params.reveal_blocks},
        {"accept_blocks", params.accept_blocks},
        {"open_blocks", params.open_blocks},
        {"verdict_blocks", params.verdict_blocks},
        {"reveal_segment_blocks", params.reveal_segment_blocks},
        {"reveal_verdict_blocks", params.reveal_verdict_blocks},
        {"challenge_blocks", params.challenge_blocks},
        {"answer_blocks", params.answer_blocks},
        {"move_blocks", params.move_blocks},
        {"capability_blocks", params.capability_blocks},
    };
    for (const auto& [name, blocks] : windows) {
        if (blocks >= most) continue;
        return error("genesis: contracts." + std::string(name) + " leaves " + std::to_string(blocks) + " blocks, and " +
                     std::to_string(most) + " validators may decide: some of them could keep a party's transactions " +
                     "out for that long; use more, or fewer places");
    }
    if (rules.downtime_blocks < 4 * most)
        return error("genesis: validatorRules: downtime_blocks is under " + std::to_string(4 * most) +
                     ", four for each validator, so proposers could jail an honest one by leaving out its votes");
    return Unit{};
}

}  // namespace

Status<> parse_validators(const json::value& v, ledger::Genesis& genesis) {
    const json::array* list = v.if_array();
    if (list == nullptr) return error("genesis: validators must be a list");
    for (const json::value& entry : *list) {
        RETRACE_TRY(validator, parse_validator("validators[" + std::to_string(genesis.validators.size()) + "]", entry));
        genesis.validators.push_back(validator);
    }
    std::ranges::sort(genesis.validators, {}, &ledger::Validator::key);
    return Unit{};
}

Status<> check_founders(const ledger::Genesis& genesis) {
    RETRACE_TRY(rules, market::decode_validator_rules(genesis.validator_rules));
    RETRACE_TRY(params, market::decode_params(genesis.contracts));
    if (rules.unbond_blocks < rules.evidence_blocks + params.epoch_blocks + 3) {
        return error(
            "genesis: validatorRules: unbond_blocks is less than evidence_blocks, an epoch and three blocks, so a "
            "validator could take its stake away before what it signed can be proved");
    }
    for (const ledger::Validator& founder : genesis.validators) {
        if (founder.power >= kFounderPowerMin) continue;
        return error("genesis: validators: a power of " + std::to_string(founder.power) + " is under " +
                     std::to_string(kFounderPowerMin) + ", too small for the steps in which elections change powers");
    }
    RETRACE_CHECK(check_windows(genesis, rules, params));
    if (!rules.is_open()) return Unit{};
    // Contracts 20.4.2: who hides the votes of a member for half of an epoch makes it silent.
    const std::uint64_t epoch_min = 2 * (std::max<std::uint64_t>(rules.places, genesis.validators.size()) + 2);
    if (params.epoch_blocks < epoch_min) {
        return error("genesis: contracts.epoch_blocks is under " + std::to_string(epoch_min) +
                     ", two for each of the " + std::to_string(epoch_min / 2 - 2) +
                     " validators that an open set may have and four more, so proposers could make an honest one look "
                     "silent for an epoch; use more, or fewer places");
    }
    if (rules.places < kOpenPlacesMin) {
        return error("genesis: validatorRules: an open set has at least " + std::to_string(kOpenPlacesMin) +
                     " places: in a smaller one no newcomer grows enough in one election to take a place");
    }
    std::uint64_t power = 0;
    for (const ledger::Validator& founder : genesis.validators) power += founder.power;
    const ledger::U256 least = rules.min_stake / ledger::U256(market::kStakePerPower) * ledger::U256(4);
    if (ledger::U256(power) < least) {
        return error("genesis: the founders' powers are " + std::to_string(power) +
                     " together; in an open set they are at least " + least.to_decimal() +
                     ", four times what min_stake gives, or a stranger with little stake decides the chain");
    }
    return Unit{};
}

Result<Bytes> parse_validator_rules(const json::value* value) {
    market::ValidatorRules rules;
    if (value == nullptr) return market::encode(rules);
    const json::object* object = value->if_object();
    if (object == nullptr) return error("genesis: validatorRules must be an object");
    std::size_t known = 0;
    std::string problem, names;
    each_rule(rules, [&](const char* name, auto& field) {
        names += (names.empty() ? "" : ", ") + std::string(name);
        const json::value* found = object->if_contains(name);
        if (found == nullptr) return;
        ++known;
        if (!read_field(*found, field) && problem.empty()) problem = std::string(name) + " must be " + wanted(field);
    });
    if (!problem.empty()) return error("genesis: validatorRules: " + problem);
    if (known != object->size()) return error("genesis: validatorRules: there are only " + names);
    RETRACE_CHECK(market::check(rules));
    return market::encode(rules);
}

}  // namespace retrace::node
