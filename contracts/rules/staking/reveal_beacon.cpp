// SPDX-License-Identifier: MIT
// SPEC 11.3. A member reveals one link of its hash chain, once per epoch.
#include "contracts/records/validator_views.hpp"
#include "contracts/rules/staking/rules.hpp"
#include "solver/commitments.hpp"

namespace retrace::contracts {

CallStatus check(const RevealBeacon&) { return CallStatus::ok; }

CallStatus admit(const RevealBeacon& call, const TxContext& context, const StateView& view) {
    const auto info = views::verifier(view, context.sender);
    if (!info || !info->member) return CallStatus::not_member;  // 11.3.1
    const std::uint64_t epoch = views::epoch_of(context.params, context.height);
    if (info->joined_epoch >= epoch) return CallStatus::reveal_not_due;  // 11.3.2
    if (views::validator_rules(view) && context.height % context.params.epoch_blocks == 0)
        return CallStatus::reveal_not_due;                                                    // 11.3.5
    if (info->revealed_epoch == epoch) return CallStatus::reveal_done;                        // 11.3.3
    if (solver::beacon_link(call.preimage) != info->head) return CallStatus::wrong_preimage;  // 11.3.4
    return CallStatus::ok;
}

void apply(const RevealBeacon& call, const TxContext& context, Effects& fx) {
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(context.sender));
    info.head = call.preimage;
    info.revealed_epoch = views::epoch_of(fx.params, fx.height);
    store(fx.state, keys::verifier(context.sender), info);
}

}  // namespace retrace::contracts
