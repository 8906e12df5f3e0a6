// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>

#include "merkle/base/ensure.hpp"
#include "verifier/player/player.hpp"

namespace retrace::verifier {
namespace {

/// Chooses the first hash that differs from the challenger's own. When none differs, a search continues with `high`; in
/// a descent the challenger has no case, and the last child is as good as any.
Choose choose(const Game& game, Replayer& replay) {
    const std::vector<Hash32> own = own_hashes(game, replay);
    const auto differ = std::mismatch(game.posted.begin(), game.posted.end(), own.begin(), own.end()).first;
    const bool search = game.phase == Phase::search_steps || game.phase == Phase::search_links;
    const auto index = static_cast<std::uint32_t>(differ - game.posted.begin());
    const auto last = static_cast<std::uint32_t>(game.posted.size() - 1);
    return {search ? index : std::min(index, last)};
}

NameElement name_element_of(const Game& game, Replayer& replay) {
    const Bytes own = own_tile(game, replay);
    const auto differ = std::mismatch(game.tile.begin(), game.tile.end(), own.begin(), own.end()).first;
    if (differ == game.tile.end()) return {0};  // No case; the first element always exists.
    const auto byte = static_cast<std::uint32_t>(differ - game.tile.begin());
    return {byte / kernels::size_of(game.op.output.dtype)};
}

/// Proof of a leaf inside an aligned, complete subtree: only the sibling hashes below level `level`.
merkle::MultiProof prove_below(const merkle::TileTree& tree, std::uint64_t index, std::uint32_t level) {
    merkle::MultiProof proof = tree.prove({&index, 1});
    proof.siblings.resize(level);
    return proof;
}

merkle::MultiProof provenance_of(const Game& game, Replayer& replay, const InputOrigin& origin) {
    const std::uint64_t place = origin.place;
    switch (origin.kind) {
        case kernels::TensorKind::state: return replay.input_of(game.found.step).tree().prove({&place, 1});
        case kernels::TensorKind::constant:
            return replay.steps().program_at(game.found.step).constant_tree().prove({&place, 1});
        case kernels::TensorKind::data: return {};
        case kernels::TensorKind::op_output: break;
    }
    const std::uint32_t level = left_subtree(game.found.op, place).level;
    return prove_below(replay.trace_tree_of(game.found.step), place, level);
}

ProveElement prove_element_of(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    const std::uint32_t place = kernels::geometry(game.op.output.dims).place_in_tile(game.found.element);
    ProveElement move;
    const PlayedStep step = replay.played(t);
    kernels::ElementQuery query{game.found.element, game.found.link, 0, step.seed, step.op_step};
    if (query.link > 0) {
        move.partial = replay.partial_of(t, game.found.op, game.found.tile, query.link);
        const std::uint32_t size = kernels::size_of(game.op.output.dtype);
        query.before = size == 4 ? load_u32(move.partial.data() + std::size_t{4} * place) : move.partial[place];
    }
    WholeInputs inputs = whole_inputs(replay, t, game.found.op);
    std::map<std::uint32_t, std::pair<std::uint32_t, std::set<std::uint64_t>>> tiles;  // Tensor → a slot, its tiles.
    for (const kernels::TileRef& read : kernels::inputs_of(game.op, query, inputs)) {
        auto& [slot, wanted] = tiles[game.op.op.inputs[read.slot]];
        slot = read.slot;
        wanted.insert(read.tile);
    }
    for (const auto& [tensor, read] : tiles) {
        const InputOrigin& origin = game.op_inputs[read.first];
        const kernels::Tensor& whole = replay.tensor_of(t, tensor);
        const merkle::TileTree& tree = replay.tiles_of(t, tensor);
        InputEvidence input;
        input.tensor = tensor;
        input.header = {whole.dtype, whole.dims, tree.root()};
        input.provenance = provenance_of(game, replay, origin);
        input.tiles.assign(read.second.begin(), read.second.end());
        for (const std::uint64_t tile : input.tiles) input.tile_bytes.push_back(kernels::tile_bytes(whole, tile));
        input.tile_proof = tree.prove(input.tiles);
        if (origin.kind == kernels::TensorKind::state) move.input_state = replay.input_of(t).header;
        move.inputs.push_back(std::move(input));
    }
    return move;
}

}  // namespace

Result<Move> challenger_move(const Game& game, Replayer& replay) {
    ensure(game.mover == Side::challenger, "the challenger's turn");
    switch (game.phase) {
        case Phase::search_steps:
        case Phase::descend_state:
        case Phase::descend_trace:
        case Phase::descend_tiles:
        case Phase::search_links: return Move(choose(game, replay));
        case Phase::name_element: return Move(name_element_of(game, replay));
        case Phase::prove_element: return Move(prove_element_of(game, replay));
        default: ensure(false, "a phase of the challenger"); return error("");
    }
}

}  // namespace retrace::verifier
