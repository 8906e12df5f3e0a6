// SPDX-License-Identifier: MIT
#include "market/validator.hpp"

#include <algorithm>

#include "market/record.hpp"

namespace retrace::market {
namespace {

constexpr std::uint64_t kBlocksMax = 1'000'000'000;

}  // namespace

Bytes encode(const ValidatorRules& rules) { return encode_record(rules); }

Result<ValidatorRules> decode_validator_rules(View bytes) {
    auto rules = decode_record<ValidatorRules>(bytes);
    if (!rules) return error("rules of validators: " + std::string(slug(rules.error())));
    RETRACE_CHECK(check(*rules));
    return std::move(*rules);
}

Status<> check(const ValidatorRules& rules) {
    if (rules.places > ledger::kValidatorsMax) return error("rules of validators: more than 100 places");
    for (const std::uint64_t blocks :
         {rules.unbond_blocks, rules.evidence_blocks, rules.downtime_blocks, rules.jail_blocks})
        if (blocks == 0 || blocks > kBlocksMax) return error("rules of validators: a duration is out of range");
    // A validator votes up to an epoch and two blocks after it unbonded, and its stake is still locked while that can
    // be punished.
    if (rules.evidence_blocks > rules.unbond_blocks / 2)
        return error("rules of validators: evidence is valid for more than half of the time to unbond");
    if (rules.min_stake < U256(kStakePerPower) || rules.min_stake.limbs()[2] != 0 || rules.min_stake.limbs()[3] != 0)
        return error("rules of validators: the least stake is under a thousandth of a coin, or 2^128 or more");
    if (rules.downtime_bp > kBasisPoints || rules.double_sign_bp > kBasisPoints)
        return error("rules of validators: a share is over 100 %");
    return Unit{};
}

std::uint64_t power_of(const ValidatorInfo& info, const ValidatorRules& rules) {
    if (info.jailed_until != 0 || info.double_signed) return 0;
    const U256 staked = rules.is_open() ? info.stake / U256(kStakePerPower) : U256();
    const U256 power = ledger::min(staked, U256(ledger::kPowerMax)) + U256(info.granted);
    return ledger::min(power, U256(ledger::kPowerMax)).low64();
}

}  // namespace retrace::market
