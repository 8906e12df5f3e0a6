// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/beacon.hpp"

#include <algorithm>

#include "contracts/lifecycle/staking/capability.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "merkle/hash/sha256.hpp"

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

/// A member or candidate, with the stake that it has bonded now.
struct Standing {
    U256 bonded;
    Address party;
    std::uint64_t joined_epoch = 0;
};

Standing standing_of(const StateView& view, const Address& party) {
    const auto info = must_load<market::VerifierInfo>(view, keys::verifier(party));
    return {views::stake(view, party).bonded, party, info.joined_epoch};
}

/// The order in which members give up their places: the least stake first. Among equal members the one that joined last
/// leaves first, so that nobody drives out an older member by choosing an address.
bool leaves_first(const Standing& a, const Standing& b) {
    if (a.bonded != b.bonded) return a.bonded < b.bonded;
    if (a.joined_epoch != b.joined_epoch) return a.joined_epoch > b.joined_epoch;
    return a.party > b.party;
}

/// The order in which candidates get places.
bool enters_first(const Standing& a, const Standing& b) {
    if (a.bonded != b.bonded) return a.bonded > b.bonded;
    return a.party < b.party;
}

/// The candidate that is admitted last. There is one.
Standing last_candidate(const StateView& view) {
    const std::vector<Address> waiting = views::candidates(view);
    ensure(!waiting.empty(), "a full list of candidates has a last one");
    Standing last;
    for (const Address& party : waiting) {
        const Standing now{views::stake(view, party).bonded, party};
        if (party == waiting.front() || enters_first(last, now)) last = now;
    }
    return last;
}

/// Returns the candidates that a registration would accept now, in the order in which they get places.
std::vector<Standing> able_candidates(const Effects& fx) {
    std::vector<Standing> able;
    for (const Address& party : views::candidates(fx.state)) {
        const market::Stake stake = views::stake(fx.state, party);
        if (stake.bonded < fx.params.min_verifier_stake || stake.available() < fx.params.beacon_penalty) continue;
        able.push_back({stake.bonded, party});
    }
    std::sort(able.begin(), able.end(), enters_first);
    return able;
}

/// Removes the records of epochs that no item can need any more. They end where one is missing.
void forget_mixed(Effects& fx, std::uint64_t newest, std::uint64_t handled_below) {
    const std::uint64_t needed = views::epoch_of(fx.params, handled_below + fx.params.epoch_blocks - 1);
    for (std::uint64_t epoch = std::min(newest, needed - std::min<std::uint64_t>(needed, 1)); epoch-- > 0;) {
        const keys::Key key = keys::mixed_epoch(epoch);
        if (!load<MixedEpoch>(fx.state, key)) return;
        remove(fx.state, key);
    }
}

}  // namespace

void mix_if_due(Effects& fx, std::uint64_t handled_below) {
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
    views::Beacon now{epoch, market::mix_beacon(before.value, epoch, reveals)};
    // 20.8: these shares were known before the first of the reveals was due.
    if (const auto shares = load<Digest>(fx.state, keys::beacon_shares(epoch))) {
        now.value = merkle::sha256(
            {view(std::string_view("retrace/beacon-with-shares/1")), view(now.value), view(shares->value)});
        remove(fx.state, keys::beacon_shares(epoch));
    }
    store(fx.state, keys::beacon(), now);
    store_mixed(fx.state, epoch, now.value, reveals);
    forget_mixed(fx, epoch, handled_below);
    fx.emit(BeaconMixed{epoch, now.value, static_cast<std::uint32_t>(reveals.size())});
    shift_weights(fx);
    draw_capability_challenges(fx, now.value);
}

void store_mixed(ledger::State& state, std::uint64_t epoch, const Hash32& beacon, std::vector<market::Reveal> reveals) {
    // 11.6: if no member with stake revealed, the beacon itself draws.
    if (std::all_of(reveals.begin(), reveals.end(), [](const market::Reveal& r) { return r.weight.is_zero(); }))
        reveals = {{Address{}, beacon, 1}};
    store(state, keys::mixed_epoch(epoch), MixedEpoch{beacon, std::move(reveals)});
}

MixedEpoch mixed_before(const Effects& fx, std::uint64_t height) {
    const std::uint64_t epoch = views::epoch_of(fx.params, height) - 1;
    if (auto mixed = load<MixedEpoch>(fx.state, keys::mixed_epoch(epoch))) return std::move(*mixed);
    // 8.4: its mix broke an invariant. The newest one draws.
    const auto newest = must_load<views::Beacon>(fx.state, keys::beacon());
    return must_load<MixedEpoch>(fx.state, keys::mixed_epoch(newest.epoch));
}

std::uint64_t next_draw_height(const Params& params, std::uint64_t height) {
    // Some reveals of this epoch are known already; those of the next one are all still to come.
    return (views::epoch_of(params, height) + 2) * params.epoch_blocks;
}

void add_member(Effects& fx, const Address& party) {
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
    info.member = true;
    info.retiring = false;
    info.pending_head = Hash32{};
    info.joined_epoch = views::epoch_of(fx.params, fx.height);
    store(fx.state, keys::verifier(party), info);
    add_to_list(fx.state, keys::verifiers(), party);
    fx.emit(VerifierRegistered{party, info.endpoint, info.joined_epoch});
}

void drop_member(Effects& fx, const Address& party, bool did_not_reveal) {
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
    info.member = false;
    info.retiring = false;
    info.pending_head = Hash32{};
    store(fx.state, keys::verifier(party), info);
    remove_from_list(fx.state, keys::verifiers(), party);
    fx.emit(VerifierLeft{party, did_not_reveal});
}

bool has_candidate_place(const StateView& view, const U256& bonded) {
    return views::candidates(view).size() < market::kCandidatesMax || last_candidate(view).bonded < bonded;
}

void add_candidate(Effects& fx, const Address& party) {
    if (views::is_candidate(fx.state, party)) return;
    if (views::candidates(fx.state).size() >= market::kCandidatesMax)
        drop_candidate(fx, last_candidate(fx.state).party);
    add_to_list(fx.state, keys::candidates(), party);
}

void drop_candidate(Effects& fx, const Address& party) {
    remove_from_list(fx.state, keys::candidates(), party);
    fx.emit(VerifierLeft{party, false});
}

void admit_candidates(Effects& fx) {
    if (fx.height == 0 || fx.height % fx.params.epoch_blocks != 0) return;
    const std::vector<Address> waiting = views::candidates(fx.state);
    if (waiting.empty()) return;
    const std::vector<Standing> able = able_candidates(fx);
    std::vector<Standing> members;
    for (const Address& party : views::verifiers(fx.state)) members.push_back(standing_of(fx.state, party));
    std::sort(members.begin(), members.end(), leaves_first);

    // Candidates come in order of stake, so none displaces one that was admitted before it.
    std::size_t places = market::kVerifiersMax - std::min(market::kVerifiersMax, members.size());
    auto poorest = members.begin();
    std::vector<Address> left;
    for (const Standing& candidate : able) {
        if (places > 0) {
            --places;
        } else if (poorest != members.end() && poorest->bonded < candidate.bonded) {
            drop_member(fx, poorest->party, false);
            ++poorest;
        } else {
            left.push_back(candidate.party);
            continue;
        }
        add_member(fx, candidate.party);
    }
    for (const Address& party : waiting) {
        const bool is_able = std::any_of(able.begin(), able.end(), [&](const Standing& s) { return s.party == party; });
        if (!is_able) fx.emit(VerifierLeft{party, false});
    }
    std::sort(left.begin(), left.end());
    store_list(fx.state, keys::candidates(), std::move(left));
}

}  // namespace retrace::contracts
