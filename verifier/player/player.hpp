// SPDX-License-Identifier: MIT
// Plays one side of a dispute from a party's own replay. A cheating solver plays from its own tampered replay and so
// defends its lie as consistently as possible.
#pragma once

#include "verifier/game/game.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::verifier {

/// Returns the solver's move; it must be the solver's turn in an undecided game (asserted). Returns an error if its
/// replay does not open its commitment; this never happens to an honest solver, and the solver's clock runs out.
Result<Move> solver_move(const Game& game, Replayer& replay);
/// Returns the challenger's move, with the same preconditions.
Result<Move> challenger_move(const Game& game, Replayer& replay);
inline Result<Move> next_move(const Game& game, Side side, Replayer& replay) {
    return side == Side::solver ? solver_move(game, replay) : challenger_move(game, replay);
}

/// The hashes that a party would post in this phase (a search or a descent) according to its own replay.
std::vector<Hash32> own_hashes(const Game& game, Replayer& replay);
/// The tile that a party would open in open_tile: that of the tensor for the last link, else that of the partial after
/// the link.
Bytes own_tile(const Game& game, Replayer& replay);

}  // namespace retrace::verifier
