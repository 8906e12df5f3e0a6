// SPDX-License-Identifier: MIT
// The beacon: a mix, once an epoch, of values that bonded verifiers reveal of their hash chains. SPEC 11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/draw.hpp"

namespace retrace::contracts {

/// The beacon of an epoch and the reveals from which it was mixed, in order of address. If none of these reveals has
/// stake, `reveals` holds the beacon itself as one reveal (11.6).
struct MixedEpoch {
    Hash32 beacon;
    std::vector<market::Reveal> reveals;
    static auto tie(auto& m) { return std::tie(m.beacon, m.reveals); }
};

/// At the first block of an epoch: mixes the beacon of the epoch before, penalises and drops members that did not
/// reveal in it. `handled_below`: the scheduler has handled all items below this height, so reveals that only those
/// items could need are removed.
void mix_if_due(Effects& fx, std::uint64_t handled_below);
void store_mixed(ledger::State& state, std::uint64_t epoch, const Hash32& beacon, std::vector<market::Reveal> reveals);
/// Returns the beacon and the reveals that draw at `height`, the first block of an epoch: those of the epoch before it,
/// even if the scheduler is behind and later epochs are mixed already.
MixedEpoch mixed_before(const Effects& fx, std::uint64_t height);
/// Returns the first height at which a beacon is known whose reveals were all due after block `height`.
std::uint64_t next_draw_height(const Params& params, std::uint64_t height);
/// Makes a party whose record holds its endpoint and its chain's head a member from this epoch on.
void add_member(Effects& fx, const Address& party);
/// Removes a member from the beacon and from all draws. `did_not_reveal` is the reason that the event gives.
void drop_member(Effects& fx, const Address& party, bool did_not_reveal);

/// Returns whether a party with this bonded stake may become a candidate: there is room, or a candidate has less.
bool has_candidate_place(const StateView& view, const U256& bonded);
/// Adds a candidate, in the place of the one with the least bonded stake when there is no room.
void add_candidate(Effects& fx, const Address& party);
void drop_candidate(Effects& fx, const Address& party);
/// At the first block of an epoch, after its draws: candidates take free places, then those of the members with the
/// least bonded stake. SPEC 11.8.
void admit_candidates(Effects& fx);

}  // namespace retrace::contracts
