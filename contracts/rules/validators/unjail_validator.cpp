// SPDX-License-Identifier: MIT
// SPEC 20.7. A validator that did not vote comes back.
#include "contracts/lifecycle/staking/validators.hpp"
#include "contracts/rules/validators/rules.hpp"

namespace retrace::contracts {

CallStatus check(const UnjailValidator&) { return CallStatus::ok; }

CallStatus admit(const UnjailValidator&, const TxContext& context, const StateView& view) {
    auto info = views::validator(view, context.sender);
    if (!info) return CallStatus::not_registered;               // 20.7.1
    if (info->double_signed) return CallStatus::double_signed;  // 20.7.2
    // 20.7.3: also one that lost its place among the candidates comes back so.
    if (info->jailed_until == 0 && is_validator_candidate(view, context.sender)) return CallStatus::not_jailed;
    if (context.height < info->jailed_until) return CallStatus::still_jailed;  // 20.7.4
    const auto rules = must_load<market::ValidatorRules>(view, keys::validator_rules());
    info->jailed_until = 0;
    if (!has_validator_place(view, context.sender, market::power_of(*info, rules)))
        return CallStatus::validators_full;  // 20.7.5
    return CallStatus::ok;
}

void apply(const UnjailValidator&, const TxContext& context, Effects& fx) {
    auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(context.sender));
    info.jailed_until = 0;
    store_validator(fx, context.sender, info);
}

}  // namespace retrace::contracts
