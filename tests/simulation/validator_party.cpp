// SPDX-License-Identifier: MIT
#include "tests/simulation/validator_party.hpp"

#include "contracts/records/validator_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::sim {

namespace views = contracts::views;

ValidatorParty::ValidatorParty(World& world, NodeId id, std::string name, ValidatorRole role)
    : Party(world, id, std::move(name), role.honest(), kFast), role_(role) {}

void ValidatorParty::act(const ledger::StateView& view, std::uint64_t height) {
    const auto info = views::validator(view, address());
    if (!info || info->double_signed) return;
    const bool bonds = info->stake.is_zero();
    const bool returns = info->jailed_until != 0 && height >= info->jailed_until && height >= role_.silent_until;
    if (!bonds && !returns) return;
    if (sent_height_ != 0 && height < sent_height_ + kResendBlocks) return;
    sent_height_ = height;
    if (returns) return call("ends its jail", contracts::UnjailValidator{});
    if (views::stake(view, address()).bonded.is_zero()) return call("deposits", contracts::Deposit{}, stake_of(role_));
    call("bonds as validator", contracts::BondValidator{stake_of(role_)});
}

}  // namespace retrace::sim
