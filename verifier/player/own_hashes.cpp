// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"
#include "verifier/player/player.hpp"

namespace retrace::verifier {
namespace {

std::vector<Hash32> own_children(const Descent& descent, const merkle::TileTree& tree) {
    const Children children = children_of(descent);
    std::vector<Hash32> hashes;
    for (std::uint64_t i = 0; i < children.count; ++i) hashes.push_back(tree.node(children.level, children.first + i));
    return hashes;
}

std::uint32_t output_tensor(const Game& game, const Replayer& replay) {
    return replay.steps().program_at(game.found.step).program().output_of(game.found.op);
}

std::vector<Hash32> own_links(const Game& game, Replayer& replay) {
    std::vector<Hash32> hashes;
    for (const std::uint64_t links : search_positions(game.search)) {
        hashes.push_back(merkle::tile_leaf(replay.partial_of(game.found.step, game.found.op, game.found.tile, links)));
    }
    return hashes;
}

}  // namespace

std::vector<Hash32> own_hashes(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    switch (game.phase) {
        case Phase::search_steps: return replay.roots_at(game.search.low, search_positions(game.search));
        case Phase::descend_state: return own_children(game.descent, replay.output_of(t).tree());
        case Phase::descend_trace: return own_children(game.descent, replay.trace_tree_of(t));
        case Phase::descend_tiles: return own_children(game.descent, replay.tiles_of(t, output_tensor(game, replay)));
        default: ensure(game.phase == Phase::search_links, "a phase of hashes"); return own_links(game, replay);
    }
}

Bytes own_tile(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    if (game.found.link + 1 < kernels::link_count(game.op)) {
        return replay.partial_of(t, game.found.op, game.found.tile, game.found.link + 1);
    }
    return kernels::tile_bytes(replay.tensor_of(t, output_tensor(game, replay)), game.found.tile);
}

}  // namespace retrace::verifier
