// SPDX-License-Identifier: MIT
// SPEC 5.3. The challenger posts the agreed inputs of one element; the ledger computes it.
#include <algorithm>
#include <map>

#include "kernels/commit/commitment.hpp"
#include "kernels/ops/element.hpp"
#include "verifier/game/moves.hpp"

namespace retrace::verifier {
namespace {

using kernels::TensorKind;

/// Elements of the op's inputs, read from tiles that were proved.
class OpenedTiles final : public kernels::ElementSource {
public:
    explicit OpenedTiles(const kernels::OpFacts& facts) : facts_(facts) {}

    void add(std::uint32_t tensor, std::uint64_t tile, View bytes) { tiles_[{tensor, tile}] = bytes; }

    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        if (slot >= facts_.inputs.size()) return std::nullopt;
        const kernels::OpFacts::Operand& operand = facts_.inputs[slot];
        const kernels::Geometry shape = kernels::geometry(operand.dims);
        if (element >= shape.elements()) return std::nullopt;
        const auto found = tiles_.find({facts_.op.inputs[slot], shape.tile_of(element)});
        if (found == tiles_.end()) return std::nullopt;
        return bits_at(found->second, operand.dtype, shape.place_in_tile(element));
    }

private:
    const kernels::OpFacts& facts_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, View> tiles_;
};

/// Checks that the tensor with this root is the one that the op reads: SPEC 5.3.2.
Status<MoveError> check_origin(const Game& game, const ProveElement& move, const InputEvidence& input,
                               const InputOrigin& origin) {
    const Hash32 root = input.header.root();
    const std::uint32_t place = origin.place;
    bool proved = false;
    switch (origin.kind) {
        case TensorKind::op_output: {
            // Choosing found.op accepted every leaf before it. The proof ends at an accepted subtree and not at the
            // root of the trace, because the challenger does not know the rest of the trace.
            const LeftSubtree subtree = left_subtree(game.found.op, place);
            const std::uint64_t leaves = std::uint64_t{1} << subtree.level;
            proved = proves(game.accepted[subtree.place], leaves, place % leaves, kernels::trace_leaf(place, root),
                            input.provenance);
            break;
        }
        case TensorKind::state:
            if (!move.input_state || move.input_state->root() != game.input_root) {
                return Unexpected{MoveError::wrong_opening};
            }
            proved = proves(move.input_state->tree_root, game.program.states, place, kernels::state_leaf(place, root),
                            input.provenance);
            break;
        case TensorKind::constant:
            proved = proves(game.program.constant_tree, game.program.constants, place,
                            merkle::indexed_leaf(merkle::Tag::record_leaf, place, view(root)), input.provenance);
            break;
        case TensorKind::data: {
            const std::vector<Hash32> roots = step_facts(game).data_roots;
            proved = input.provenance.siblings.empty() && place < roots.size() && roots[place] == root;
            break;
        }
    }
    if (!proved) return Unexpected{MoveError::bad_proof};
    return Unit{};
}

Status<MoveError> check_tiles(const InputEvidence& input, const kernels::OpFacts::Operand& operand) {
    // An agreed root whose header differs from the program's can only come from a task whose data does not fit it.
    if (input.header.dtype != operand.dtype || input.header.dims != operand.dims) {
        return Unexpected{MoveError::wrong_opening};
    }
    if (input.tiles.empty() || input.tiles.size() != input.tile_bytes.size()) {
        return Unexpected{MoveError::wrong_count};
    }
    std::vector<merkle::IndexedLeaf> leaves;
    for (std::size_t i = 0; i < input.tiles.size(); ++i) {
        if (input.tile_bytes[i].size() != std::size_t{kernels::size_of(operand.dtype)} * kTilePlaces) {
            return Unexpected{MoveError::wrong_count};
        }
        leaves.push_back({input.tiles[i], merkle::tile_leaf(input.tile_bytes[i])});
    }
    const std::uint64_t tiles = kernels::geometry(operand.dims).tiles();
    if (!merkle::verify(input.header.tree_root, tiles, leaves, input.tile_proof)) {
        return Unexpected{MoveError::bad_proof};
    }
    return Unit{};
}

Status<MoveError> check_inputs(const Game& game, const ProveElement& move, OpenedTiles& opened) {
    const std::vector<std::uint32_t>& slots = game.op.op.inputs;
    std::size_t tiles = 0;
    bool reads_state = false;
    for (std::size_t i = 0; i < move.inputs.size(); ++i) {
        const InputEvidence& input = move.inputs[i];
        if (i > 0 && input.tensor <= move.inputs[i - 1].tensor) return Unexpected{MoveError::wrong_count};
        const auto slot = std::find(slots.begin(), slots.end(), input.tensor);
        if (slot == slots.end()) return Unexpected{MoveError::out_of_range};
        const auto at = static_cast<std::size_t>(slot - slots.begin());
        tiles += input.tiles.size();
        if (tiles > kernels::kEvidenceTilesMax) return Unexpected{MoveError::too_large};
        reads_state = reads_state || game.op_inputs[at].kind == TensorKind::state;
        RETRACE_CHECK(check_origin(game, move, input, game.op_inputs[at]));
        RETRACE_CHECK(check_tiles(input, game.op.inputs[at]));
        for (std::size_t t = 0; t < input.tiles.size(); ++t)
            opened.add(input.tensor, input.tiles[t], input.tile_bytes[t]);
    }
    if (move.input_state.has_value() != reads_state) return Unexpected{MoveError::wrong_opening};
    return Unit{};
}

/// The carried bits before the disputed link; 0 for the first link.
Result<std::uint32_t, MoveError> carried_before(const Game& game, const ProveElement& move) {
    if (game.found.link == 0) {
        if (!move.partial.empty()) return Unexpected{MoveError::wrong_opening};
        return std::uint32_t{0};
    }
    const kernels::DType dtype = game.op.output.dtype;
    if (move.partial.size() != std::size_t{kernels::size_of(dtype)} * kTilePlaces) {
        return Unexpected{MoveError::wrong_count};
    }
    if (merkle::tile_leaf(move.partial) != game.search.low_hash) return Unexpected{MoveError::wrong_opening};
    return bits_at(move.partial, dtype, kernels::geometry(game.op.output.dims).place_in_tile(game.found.element));
}

}  // namespace

Status<MoveError> prove_element(Game& game, const ProveElement& move) {
    OpenedTiles opened(game.op);
    RETRACE_CHECK(check_inputs(game, move, opened));
    RETRACE_TRY(before, carried_before(game, move));
    const StepFacts facts = step_facts(game);
    const kernels::ElementQuery query{game.found.element, game.found.link, before, facts.seed, facts.op_step};
    const auto bits = kernels::evaluate(game.op, query, opened);
    if (!bits) return Unexpected{MoveError::missing_input};
    game.found.referee_bits = *bits;
    if (*bits == game.found.claimed_bits)
        decide(game, Ending::referee_challenger_wrong, Side::challenger);
    else
        decide(game, Ending::referee_solver_wrong, Side::solver);
    return Unit{};
}

}  // namespace retrace::verifier
