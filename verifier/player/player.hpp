// SPDX-License-Identifier: MIT
// Plays one side of a dispute from a party's own replay. A cheating solver plays from its own, tampered one
// and so defends its lie as consistently as it can.
#pragma once

#include "verifier/game/game.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::verifier {

/// What the solver answers; it is the solver's turn and the game is not decided (asserted). An error when its
/// own replay does not open what it committed to, which no honest solver meets: its clock runs out.
Result<Move> solver_move(const Game& game, Replayer& truth);
/// What the challenger answers, likewise.
Result<Move> challenger_move(const Game& game, Replayer& truth);
inline Result<Move> next_move(const Game& game, Side side, Replayer& truth) {
    return side == Side::solver ? solver_move(game, truth) : challenger_move(game, truth);
}

/// The hashes that a party would post in this phase, by its own replay (a search or a descent).
std::vector<Hash32> own_hashes(const Game& game, Replayer& truth);
/// The tile that it would open in open_tile: of the tensor for the last link, else of the partial after the
/// link.
Bytes own_tile(const Game& game, Replayer& truth);

}  // namespace retrace::verifier
