// SPDX-License-Identifier: MIT
// SPEC 10.3. Stake unbonds in two steps, later than the longest dispute about anything that it secured.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/lifecycle/staking/capability.hpp"
#include "contracts/rules/staking/rules.hpp"

namespace retrace::contracts {

CallStatus check(const BeginUnbond& call) {
    if (call.amount.is_zero()) return CallStatus::amount_zero;  // 10.3.1
    return CallStatus::ok;
}

CallStatus admit(const BeginUnbond& call, const TxContext& context, const StateView& view) {
    const market::Stake stake = views::stake(view, context.sender);
    if (call.amount > views::free_stake(view, context.params, context.sender))
        return CallStatus::stake_too_low;  // 10.3.2
    const auto info = views::verifier(view, context.sender);
    // 10.3.3: a member of the beacon must keep its minimum stake; it retires first.
    if (info && info->member && stake.bonded - call.amount < context.params.min_verifier_stake)
        return CallStatus::stake_too_low;
    return CallStatus::ok;
}

void apply(const BeginUnbond& call, const TxContext& context, Effects& fx) {
    market::Stake stake = views::stake(fx.state, context.sender);
    stake.bonded -= call.amount;
    stake.unbonding += call.amount;
    stake.unbond_height = fx.height + fx.params.unbond_blocks;
    store(fx.state, keys::stake(context.sender), stake);
    fx.emit(StakeChanged{context.sender, stake.bonded, stake.locked, stake.unbonding});
    if (stake.bonded < fx.params.min_solver_stake) delist_solver(fx, context.sender);
    // 10.3.6: a place that it cannot take is free for others.
    if (stake.bonded < fx.params.min_verifier_stake && views::is_candidate(fx.state, context.sender))
        drop_candidate(fx, context.sender);
}

CallStatus check(const Withdraw&) { return CallStatus::ok; }

CallStatus admit(const Withdraw&, const TxContext& context, const StateView& view) {
    const market::Stake stake = views::stake(view, context.sender);
    if (stake.unbonding.is_zero()) return CallStatus::nothing_unbonded;            // 10.3.4
    if (context.height < stake.unbond_height) return CallStatus::still_unbonding;  // 10.3.5
    return CallStatus::ok;
}

void apply(const Withdraw&, const TxContext& context, Effects& fx) {
    market::Stake stake = views::stake(fx.state, context.sender);
    const U256 amount = stake.unbonding;
    stake.unbonding = U256();
    stake.unbond_height = 0;
    store(fx.state, keys::stake(context.sender), stake);
    pay(fx, Contract::staking, context.sender, amount);
    fx.emit(StakeChanged{context.sender, stake.bonded, stake.locked, stake.unbonding});
}

}  // namespace retrace::contracts
