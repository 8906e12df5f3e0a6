// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {
namespace {

void write(Effects& fx, const Address& party, const market::Stake& stake) {
    ensure(stake.locked <= stake.bonded, "no more stake is locked than bonded");
    store(fx.state, keys::stake(party), stake);
    fx.emit(StakeChanged{party, stake.bonded, stake.locked, stake.unbonding});
}

}  // namespace

std::string_view slug(SlashReason reason) noexcept {
    switch (reason) {
        case SlashReason::wrong_result: return "wrong_result";
        case SlashReason::wrong_initial: return "wrong_initial";
        case SlashReason::not_opened: return "not_opened";
        case SlashReason::not_checkpointed: return "not_checkpointed";
        case SlashReason::not_served: return "not_served";
        case SlashReason::verdict_missed: return "verdict_missed";
        case SlashReason::verdict_hidden: return "verdict_hidden";
        case SlashReason::false_accusation: return "false_accusation";
        case SlashReason::beacon_missed: return "beacon_missed";
        case SlashReason::not_kept: return "not_kept";
        case SlashReason::not_audited: return "not_audited";
        case SlashReason::capability_unproved: return "capability_unproved";
        case SlashReason::votes_missed: return "votes_missed";
        case SlashReason::signed_twice: return "signed_twice";
        case SlashReason::not_honoured: return "not_honoured";
        case SlashReason::wrong_shares: return "wrong_shares";
        case SlashReason::not_played: return "not_played";
    }
    return "unknown";
}

void lock(Effects& fx, const Address& party, const U256& amount) {
    if (amount.is_zero()) return;
    market::Stake stake = views::stake(fx.state, party);
    stake.locked += amount;
    write(fx, party, stake);
}

void unlock(Effects& fx, const Address& party, const U256& amount) {
    if (amount.is_zero()) return;
    market::Stake stake = views::stake(fx.state, party);
    stake.locked -= amount;
    write(fx, party, stake);
}

void slash_locked(Effects& fx, const Address& party, std::uint64_t task, const U256& amount,
                  const std::vector<Share>& shares, SlashReason reason) {
    if (amount.is_zero()) return;
    market::Stake stake = views::stake(fx.state, party);
    stake.locked -= amount;
    stake.bonded -= amount;
    write(fx, party, stake);
    U256 given;
    for (const Share& share : shares) {
        pay(fx, Contract::staking, share.to, share.amount);
        given += share.amount;
    }
    ensure(given <= amount, "no more is given away than was taken");
    burn_held(fx, Contract::staking, amount - given);
    fx.emit(Slashed{party, task, amount, amount - given, given, std::string(slug(reason))});
}

void slash_available(Effects& fx, const Address& party, std::uint64_t task, const U256& amount, SlashReason reason) {
    market::Stake stake = views::stake(fx.state, party);
    const U256 taken = ledger::min(amount, stake.available());
    if (taken.is_zero()) return;
    stake.bonded -= taken;
    write(fx, party, stake);
    burn_held(fx, Contract::staking, taken);
    fx.emit(Slashed{party, task, taken, taken, 0, std::string(slug(reason))});
}

}  // namespace retrace::contracts
