// SPDX-License-Identifier: MIT
// A solver that lies once more in the dispute about its lie: a different lie at each level of the game. For
// simulation and tests; nothing of the product makes one.
#pragma once

#include <optional>
#include <string_view>

#include "verifier/game/game.hpp"

namespace retrace::verifier {

enum class GameLie : std::uint8_t {
    steps = 1,   ///< A: posts state roots that nothing hashes to.
    state = 2,   ///< Posts other children of the state tree.
    trace = 3,   ///< B: other children of the trace.
    tiles = 4,   ///< C: other children of the tile tree.
    links = 5,   ///< D: partial tiles that nothing hashes to.
    tile = 6,    ///< Opens a tile with another element than the one committed to.
    header = 7,  ///< Opens a state header of another step.
    stop = 8,    ///< Answers the first question and then nothing.
};
std::string_view slug(GameLie lie) noexcept;
std::optional<GameLie> parse_game_lie(std::string_view text) noexcept;

/// The move that is sent in place of `move` (encoded); nullopt: none.
std::optional<Bytes> apply_lie(GameLie lie, const Game& game, const Bytes& move);

}  // namespace retrace::verifier
