// SPDX-License-Identifier: MIT
// Handlers of the moves. The caller has checked that phase and mover fit (the table in game.cpp). A handler that
// returns an error may leave its game half changed: `apply` works on a copy.
#pragma once

#include "verifier/game/game.hpp"

namespace retrace::verifier {

Status<MoveError> post_for_search(Game& game, const PostHashes& move);
Status<MoveError> post_for_descent(Game& game, const PostHashes& move);
Status<MoveError> choose_in_search(Game& game, const Choose& move);
Status<MoveError> choose_in_descent(Game& game, const Choose& move);
Status<MoveError> open_state(Game& game, const OpenState& move);
Status<MoveError> open_trace(Game& game, const OpenTrace& move);
Status<MoveError> open_tensor(Game& game, const OpenTensor& move);
Status<MoveError> open_tile(Game& game, const OpenTile& move);
Status<MoveError> name_element(Game& game, const NameElement& move);
Status<MoveError> prove_element(Game& game, const ProveElement& move);

void decide(Game& game, Ending ending, Side loser);
/// Continues with game.search in `phase`; a search with one position finishes at once.
void enter_search(Game& game, Phase phase, const Search& search);
/// Continues with game.descent in `phase`; a descent that is at a leaf finishes at once.
void enter_descent(Game& game, Phase phase, const Descent& descent);
/// Makes the game wait for a move of `side` in `phase`.
void await(Game& game, Phase phase, Side side);

/// Whether `leaf` is leaf `index` of the tree of `leaves` leaves under `root`.
bool proves(const Hash32& root, std::uint64_t leaves, std::uint64_t index, const Hash32& leaf,
            const merkle::MultiProof& proof);

/// Element of the disputed tensor at `place` of the disputed tile; nullopt for padding.
std::optional<std::uint64_t> element_at(const Game& game, std::uint32_t place);
/// Bits at `place` of a tile, zero-extended. The tile must have its full length (asserted).
std::uint32_t bits_at(View tile, kernels::DType dtype, std::uint32_t place);
inline constexpr std::uint32_t kTilePlaces = 1024;

}  // namespace retrace::verifier
