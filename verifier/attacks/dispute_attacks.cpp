// SPDX-License-Identifier: MIT
#include "verifier/attacks/dispute_attacks.hpp"

#include <algorithm>
#include <array>

namespace retrace::verifier {
namespace {

constexpr std::array kDisputeAttacks = {DisputeAttack::steps,  DisputeAttack::state, DisputeAttack::trace,
                                        DisputeAttack::tiles,  DisputeAttack::links, DisputeAttack::tile,
                                        DisputeAttack::header, DisputeAttack::stop};

/// The phase in which an attack is made; `decided` for an attack without a phase.
Phase phase_of(DisputeAttack attack) {
    switch (attack) {
        case DisputeAttack::steps: return Phase::search_steps;
        case DisputeAttack::state: return Phase::descend_state;
        case DisputeAttack::trace: return Phase::descend_trace;
        case DisputeAttack::tiles: return Phase::descend_tiles;
        case DisputeAttack::links: return Phase::search_links;
        case DisputeAttack::tile: return Phase::open_tile;
        case DisputeAttack::header: return Phase::open_state;
        case DisputeAttack::stop: break;
    }
    return Phase::decided;
}

}  // namespace

std::string_view slug(DisputeAttack attack) noexcept {
    switch (attack) {
        case DisputeAttack::steps: return "lie_steps";
        case DisputeAttack::state: return "lie_state";
        case DisputeAttack::trace: return "lie_trace";
        case DisputeAttack::tiles: return "lie_tiles";
        case DisputeAttack::links: return "lie_links";
        case DisputeAttack::tile: return "lie_tile";
        case DisputeAttack::header: return "lie_header";
        case DisputeAttack::stop: return "stop_in_dispute";
    }
    return "unknown";
}

std::optional<DisputeAttack> parse_dispute_attack(std::string_view text) noexcept {
    const auto found = std::find_if(kDisputeAttacks.begin(), kDisputeAttacks.end(),
                                    [&](DisputeAttack attack) { return slug(attack) == text; });
    if (found == kDisputeAttacks.end()) return std::nullopt;
    return *found;
}

std::optional<Bytes> apply_attack(DisputeAttack attack, const Game& game, const Bytes& move) {
    if (attack == DisputeAttack::stop) return game.rounds == 0 ? std::optional(move) : std::nullopt;
    if (game.phase != phase_of(attack)) return move;
    auto decoded = decode_move(move);
    if (!decoded) return move;
    if (auto* post = std::get_if<PostHashes>(&*decoded)) {
        for (Hash32& hash : post->hashes) hash.bytes[0] ^= 0x5a;
    } else if (auto* tile = std::get_if<OpenTile>(&*decoded)) {
        if (!tile->tile.empty()) tile->tile.front() ^= 1;
    } else if (auto* state = std::get_if<OpenState>(&*decoded)) {
        ++state->header.step;
    }
    return encode(*decoded);
}

}  // namespace retrace::verifier
