// SPDX-License-Identifier: MIT
// A cheating solver that also lies in the dispute: one attack for each level of the game. For
// simulation and tests; the product never uses it.
#pragma once

#include <optional>
#include <string_view>

#include "verifier/game/game.hpp"

namespace retrace::verifier {

enum class DisputeAttack : std::uint8_t {
    steps = 1,   ///< Level A: posts state roots that match no state.
    state = 2,   ///< Posts wrong children of the state tree.
    trace = 3,   ///< Level B: posts wrong children of the trace tree.
    tiles = 4,   ///< Level C: posts wrong children of the tile tree.
    links = 5,   ///< Level D: posts hashes that match no partial tile.
    tile = 6,    ///< Opens a tile that differs in one element from the committed tile.
    header = 7,  ///< Opens a state header with another step number.
    stop = 8,    ///< Answers the first question and then stops.
};
std::string_view slug(DisputeAttack attack) noexcept;
std::optional<DisputeAttack> parse_dispute_attack(std::string_view text) noexcept;

/// Returns the (encoded) move to send in place of `move`; nullopt: no move is sent.
std::optional<Bytes> apply_attack(DisputeAttack attack, const Game& game, const Bytes& move);

}  // namespace retrace::verifier
