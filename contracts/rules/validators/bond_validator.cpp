// SPDX-License-Identifier: MIT
// SPEC 20.3. Stake gives a validator power, and stays locked until what it has signed can no longer be punished.
#include "contracts/lifecycle/staking/stakes.hpp"
#include "contracts/lifecycle/staking/validators.hpp"
#include "contracts/rules/validators/rules.hpp"

namespace retrace::contracts {
namespace {

void store_stake(Effects& fx, const Address& account, const market::ValidatorInfo& info) {
    store_validator(fx, account, info);
    fx.emit(ValidatorStakeChanged{account, info.stake, info.leaving});
}

}  // namespace

CallStatus check(const BondValidator& call) {
    if (call.amount.is_zero()) return CallStatus::amount_zero;  // 20.3.1
    return CallStatus::ok;
}

CallStatus admit(const BondValidator& call, const TxContext& context, const StateView& view) {
    auto info = views::validator(view, context.sender);
    if (!info) return CallStatus::not_registered;               // 20.3.2
    if (info->double_signed) return CallStatus::double_signed;  // 20.3.3
    if (call.amount > views::free_stake(view, context.params, context.sender))
        return CallStatus::stake_too_low;  // 20.3.4
    const auto rules = must_load<market::ValidatorRules>(view, keys::validator_rules());
    info->stake += call.amount;
    if (info->stake < rules.min_stake) return CallStatus::stake_too_low;  // 20.3.5
    const std::uint64_t power = market::power_of(*info, rules);
    if (power != 0 && !has_validator_place(view, context.sender, power)) return CallStatus::validators_full;  // 20.3.6
    return CallStatus::ok;
}

void apply(const BondValidator& call, const TxContext& context, Effects& fx) {
    auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(context.sender));
    lock(fx, context.sender, call.amount);
    info.stake += call.amount;
    store_stake(fx, context.sender, info);
}

CallStatus check(const UnbondValidator& call) {
    if (call.amount.is_zero()) return CallStatus::amount_zero;  // 20.3.1
    return CallStatus::ok;
}

CallStatus admit(const UnbondValidator& call, const TxContext& context, const StateView& view) {
    const auto info = views::validator(view, context.sender);
    if (!info) return CallStatus::not_registered;                     // 20.3.2
    if (call.amount > info->stake) return CallStatus::stake_too_low;  // 20.3.7
    const auto rules = must_load<market::ValidatorRules>(view, keys::validator_rules());
    const U256 left = info->stake - call.amount;
    if (!left.is_zero() && left < rules.min_stake) return CallStatus::stake_too_low;  // 20.3.5
    return CallStatus::ok;
}

void apply(const UnbondValidator& call, const TxContext& context, Effects& fx) {
    auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(context.sender));
    const auto rules = must_load<market::ValidatorRules>(fx.state, keys::validator_rules());
    info.stake -= call.amount;
    info.leaving += call.amount;
    info.leaving_height = fx.height + rules.unbond_blocks;
    store_stake(fx, context.sender, info);
}

CallStatus check(const ReleaseValidator&) { return CallStatus::ok; }

CallStatus admit(const ReleaseValidator&, const TxContext& context, const StateView& view) {
    const auto info = views::validator(view, context.sender);
    if (!info) return CallStatus::not_registered;                                   // 20.3.2
    if (info->leaving.is_zero()) return CallStatus::nothing_unbonded;               // 20.3.8
    if (context.height < info->leaving_height) return CallStatus::still_unbonding;  // 20.3.9
    return CallStatus::ok;
}

void apply(const ReleaseValidator&, const TxContext& context, Effects& fx) {
    auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(context.sender));
    unlock(fx, context.sender, info.leaving);
    info.leaving = U256();
    info.leaving_height = 0;
    store_stake(fx, context.sender, info);
}

}  // namespace retrace::contracts
