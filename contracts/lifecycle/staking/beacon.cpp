// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/beacon.hpp"

#include <algorithm>

#include "contracts/lifecycle/staking/capability.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {
namespace {

/// 11.5: a draw counts the stake that was bonded before the first reveal of its beacon was made.
void shift_weights(Effects& fx) {
    for (const Address& party : views::verifiers(fx.state)) {
        auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
        const U256 bonded = views::stake(fx.state, party).bonded;
        if (info.weight == info.next_weight && info.next_weight == bonded) continue;
        info.weight = info.next_weight;
        info.next_weight = bonded;
        store(fx.state, keys::verifier(party), info);
    }
}

}  // namespace

void mix_if_due(Effects& fx) {
    if (fx.height == 0 || fx.height % fx.params.epoch_blocks != 0) return;
    const std::uint64_t epoch = views::epoch_of(fx.params, fx.height) - 1;
    std::vector<market::Reveal> reveals;  // In order of address, like the members.
    for (const Address& party : views::verifiers(fx.state)) {
        auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
        if (info.joined_epoch >= epoch) continue;  // 11.2: its first reveal is due in the epoch after it joined
        if (info.revealed_epoch == epoch) {
            // 11.5: before the shift, next_weight is the stake bonded when these reveals began.
            reveals.push_back({party, info.head, info.next_weight});
            if (info.retiring) {
                drop_member(fx, party, false);
            } else if (!info.pending_head.is_zero()) {
                info.head = info.pending_head;
                info.pending_head = Hash32{};
                store(fx.state, keys::verifier(party), info);
            }
            continue;
        }
        slash_available(fx, party, 0, fx.params.beacon_penalty, SlashReason::beacon_missed);
        drop_member(fx, party, true);
    }
    const auto before = must_load<views::Beacon>(fx.state, keys::beacon());
    const views::Beacon now{epoch, market::mix_beacon(before.value, epoch, reveals)};
    store(fx.state, keys::beacon(), now);
    store_reveals(fx.state, now.value, reveals);
    fx.emit(BeaconMixed{epoch, now.value, static_cast<std::uint32_t>(reveals.size())});
    shift_weights(fx);
    draw_challenges(fx, now.value);
}

void store_reveals(ledger::State& state, const Hash32& beacon, std::vector<market::Reveal> reveals) {
    // 11.6: if no member with stake revealed, the beacon itself draws.
    if (std::all_of(reveals.begin(), reveals.end(), [](const market::Reveal& r) { return r.weight.is_zero(); }))
        reveals = {{Address{}, beacon, 1}};
    store(state, keys::reveals(), ListOf<market::Reveal>{std::move(reveals)});
}

std::uint64_t next_draw_height(const Params& params, std::uint64_t height) {
    // Some reveals of this epoch are known already; those of the next one are all still to come.
    return (views::epoch_of(params, height) + 2) * params.epoch_blocks;
}

void drop_member(Effects& fx, const Address& party, bool dropped) {
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
    info.member = false;
    info.retiring = false;
    info.pending_head = Hash32{};
    store(fx.state, keys::verifier(party), info);
    remove_from_list(fx.state, keys::verifiers(), party);
    fx.emit(VerifierLeft{party, dropped});
}

}  // namespace retrace::contracts
