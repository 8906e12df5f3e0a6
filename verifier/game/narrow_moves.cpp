// SPDX-License-Identifier: MIT
// PostHashes and Choose: SPEC 3.
#include "merkle/base/ensure.hpp"
#include "verifier/game/moves.hpp"
#include "verifier/game/narrowing.hpp"

namespace retrace::verifier {

void enter_search(Game& game, Phase phase, const Search& search) {
    game.search = search;
    game.posted.clear();
    if (search.high - search.low > 1) return await(game, phase, Side::solver);
    if (phase == Phase::search_steps) {
        game.found.step = search.low;
        game.input_root = search.low_hash;
        return await(game, Phase::open_state, Side::solver);
    }
    game.found.link = search.low;
    await(game, Phase::open_tile, Side::solver);
}

void enter_descent(Game& game, Phase phase, const Descent& descent) {
    game.descent = descent;
    game.posted.clear();
    if (descent.level > 0) return await(game, phase, Side::solver);
    switch (phase) {
        case Phase::descend_state:
            game.found.state_tensor = static_cast<std::uint32_t>(descent.index);
            return await(game, Phase::open_trace, Side::solver);
        case Phase::descend_trace:
            game.found.op = static_cast<std::uint32_t>(descent.index);
            return await(game, Phase::open_tensor, Side::solver);
        default:
            ensure(phase == Phase::descend_tiles, "a descent");
            game.found.tile = descent.index;
            // Nothing is agreed before the first link; the last position is the tile itself, including the epilogue.
            return enter_search(game, Phase::search_links, {0, kernels::link_count(game.op), {}, descent.node});
    }
}

Status<MoveError> post_for_search(Game& game, const PostHashes& move) {
    if (move.hashes.size() != search_positions(game.search).size()) return Unexpected{MoveError::wrong_count};
    game.posted = move.hashes;
    await(game, game.phase, Side::challenger);
    return Unit{};
}

Status<MoveError> post_for_descent(Game& game, const PostHashes& move) {
    if (move.hashes.size() != children_of(game.descent).count) return Unexpected{MoveError::wrong_count};
    if (!are_children(game.descent, move.hashes)) return Unexpected{MoveError::wrong_children};
    game.posted = move.hashes;
    await(game, game.phase, Side::challenger);
    return Unit{};
}

Status<MoveError> choose_in_search(Game& game, const Choose& move) {
    if (move.index > game.posted.size()) return Unexpected{MoveError::out_of_range};
    enter_search(game, game.phase, narrow(game.search, game.posted, move.index));
    return Unit{};
}

Status<MoveError> choose_in_descent(Game& game, const Choose& move) {
    if (move.index >= game.posted.size()) return Unexpected{MoveError::out_of_range};
    if (game.phase == Phase::descend_trace) {
        for (const Hash32& root : left_of_path(game.descent, game.posted, move.index)) game.accepted.push_back(root);
    }
    enter_descent(game, game.phase, descend_to(game.descent, move.index, game.posted[move.index]));
    return Unit{};
}

}  // namespace retrace::verifier
