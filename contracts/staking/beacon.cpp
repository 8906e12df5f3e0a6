// SPDX-License-Identifier: MIT
#include "contracts/staking/beacon.hpp"

#include "contracts/staking/capability.hpp"
#include "contracts/staking/stakes.hpp"
#include "market/draw.hpp"

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
    std::vector<market::Reveal> reveals;
    for (const Address& party : views::verifiers(fx.state)) {
        auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
        if (info.joined_epoch >= epoch) continue;  // 11.2: its first reveal is due in the epoch after it joined
        if (info.revealed_epoch == epoch) {
            reveals.push_back({party, info.head});
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
    fx.emit(BeaconMixed{epoch, now.value, static_cast<std::uint32_t>(reveals.size())});
    shift_weights(fx);
    draw_challenges(fx, now.value);
}

std::uint64_t next_draw_height(const Params& params, std::uint64_t height) {
    // Reveals of this epoch are partly known already; those of the next one are all still to come.
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
