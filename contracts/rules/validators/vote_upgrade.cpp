// SPDX-License-Identifier: MIT
// SPEC 20.9. The validators decide when the chain goes on by the next version of the rules.
#include "contracts/lifecycle/staking/validators.hpp"
#include "contracts/rules/validators/rules.hpp"

namespace retrace::contracts {

CallStatus check(const VoteUpgrade&) { return CallStatus::ok; }

CallStatus admit(const VoteUpgrade& call, const TxContext& context, const StateView& view) {
    const auto set = views::validator_set(view);
    const bool is_member = std::ranges::find(set, context.sender, &SetMember::account) != set.end();
    if (!is_member) return CallStatus::not_in_set;                                           // 20.9.1
    if (call.version == 0) return CallStatus::ok;                                            // It withdraws its vote.
    if (call.version != views::upgrade(view).current + 1) return CallStatus::wrong_version;  // 20.9.2
    // 20.9.3: operators have an epoch at least to install the program that has the new rules.
    const std::uint64_t epoch = context.params.epoch_blocks;
    if (call.height % epoch != 0 || call.height <= context.height + epoch) return CallStatus::wrong_height;
    return CallStatus::ok;
}

void apply(const VoteUpgrade& call, const TxContext& context, Effects& fx) {
    vote_upgrade(fx, {context.sender, call.version, call.height});
}

}  // namespace retrace::contracts
