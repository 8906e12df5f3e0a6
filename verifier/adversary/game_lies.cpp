// SPDX-License-Identifier: MIT
#include "verifier/adversary/game_lies.hpp"

#include <algorithm>
#include <array>

namespace retrace::verifier {
namespace {

constexpr std::array kLies = {GameLie::steps, GameLie::state, GameLie::trace,  GameLie::tiles,
                              GameLie::links, GameLie::tile,  GameLie::header, GameLie::stop};

/// The phase in which a lie is told; `decided` for a lie without a phase.
Phase phase_of(GameLie lie) {
    switch (lie) {
        case GameLie::steps:
            return Phase::search_steps;
        case GameLie::state:
            return Phase::descend_state;
        case GameLie::trace:
            return Phase::descend_trace;
        case GameLie::tiles:
            return Phase::descend_tiles;
        case GameLie::links:
            return Phase::search_links;
        case GameLie::tile:
            return Phase::open_tile;
        case GameLie::header:
            return Phase::open_state;
        case GameLie::stop:
            break;
    }
    return Phase::decided;
}

}  // namespace

std::string_view slug(GameLie lie) noexcept {
    switch (lie) {
        case GameLie::steps:
            return "lie_steps";
        case GameLie::state:
            return "lie_state";
        case GameLie::trace:
            return "lie_trace";
        case GameLie::tiles:
            return "lie_tiles";
        case GameLie::links:
            return "lie_links";
        case GameLie::tile:
            return "lie_tile";
        case GameLie::header:
            return "lie_header";
        case GameLie::stop:
            return "stop_in_dispute";
    }
    return "unknown";
}

std::optional<GameLie> parse_game_lie(std::string_view text) noexcept {
    const auto found =
        std::find_if(kLies.begin(), kLies.end(), [&](GameLie lie) { return slug(lie) == text; });
    if (found == kLies.end()) return std::nullopt;
    return *found;
}

std::optional<Bytes> apply_lie(GameLie lie, const Game& game, const Bytes& move) {
    if (lie == GameLie::stop) return game.rounds == 0 ? std::optional(move) : std::nullopt;
    if (game.phase != phase_of(lie)) return move;
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
