// SPDX-License-Identifier: MIT
// SPEC 10.2. Adds coins to the sender's stake.
#include "contracts/rules/staking/rules.hpp"

namespace retrace::contracts {

CallStatus check(const Deposit&) { return CallStatus::ok; }

CallStatus admit(const Deposit&, const TxContext& context, const StateView&) {
    if (context.value.is_zero()) return CallStatus::amount_zero;  // 10.2.1
    return CallStatus::ok;
}

void apply(const Deposit&, const TxContext& context, Effects& fx) {
    market::Stake stake = views::stake(fx.state, context.sender);
    stake.bonded += context.value;
    store(fx.state, keys::stake(context.sender), stake);
    fx.emit(StakeChanged{context.sender, stake.bonded, stake.locked, stake.unbonding});
}

}  // namespace retrace::contracts
