// SPDX-License-Identifier: MIT
// SPEC 4.2. The solver binds the disputed state tensor to the trace of its step, or proves that no op writes it.
#include "kernels/commit/commitment.hpp"
#include "verifier/game/moves.hpp"
#include "verifier/game/narrowing.hpp"

namespace retrace::verifier {
namespace {

using kernels::state_leaf;

Status<MoveError> written(Game& game, const OpenTrace& move, const Written& source) {
    if (move.record.writer >= move.program.ops) {
        decide(game, Ending::bad_program, Side::solver);
        return Unit{};
    }
    // Without this check a solver could post an honest trace that is unrelated to the state it committed to.
    if (!proves(source.trace_root, move.program.ops, move.record.writer,
                kernels::trace_leaf(move.record.writer, move.tensor_root), source.trace_proof)) {
        return Unexpected{MoveError::bad_proof};
    }
    enter_descent(game, Phase::descend_trace, descend_from(move.program.ops, source.trace_root));
    return Unit{};
}

Status<MoveError> unwritten(Game& game, const OpenTrace& move, const Unwritten& source) {
    if (game.claim.initialiser) {
        decide(game, Ending::bad_program, Side::solver);  // An initialiser writes every tensor.
        return Unit{};
    }
    if (source.input.root() != game.input_root) return Unexpected{MoveError::wrong_opening};
    const std::uint32_t index = game.found.state_tensor;
    if (!proves(source.input.tree_root, game.descent.leaves, index, state_leaf(index, source.tensor_root),
                source.proof)) {
        return Unexpected{MoveError::bad_proof};
    }
    if (source.tensor_root == move.tensor_root)
        decide(game, Ending::unwritten_equal, Side::challenger);
    else
        decide(game, Ending::unwritten_changed, Side::solver);
    return Unit{};
}

}  // namespace

bool proves(const Hash32& root, std::uint64_t leaves, std::uint64_t index, const Hash32& leaf,
            const merkle::MultiProof& proof) {
    const merkle::IndexedLeaf leaf_at{index, leaf};
    return merkle::verify(root, leaves, {&leaf_at, 1}, proof).has_value();
}

Status<MoveError> open_trace(Game& game, const OpenTrace& move) {
    const std::uint32_t index = game.found.state_tensor;
    if (state_leaf(index, move.tensor_root) != game.descent.node) return Unexpected{MoveError::wrong_leaf};
    if (move.program.root() != step_facts(game).played_root) return Unexpected{MoveError::wrong_opening};
    const Hash32 record = merkle::indexed_leaf(merkle::Tag::record_leaf, index, kernels::encode_record(move.record));
    if (!proves(move.program.tensor_tree, move.program.tensors(), index, record, move.record_proof)) {
        return Unexpected{MoveError::bad_proof};
    }
    game.program = move.program;
    if (move.record.kind != kernels::TensorKind::state) {
        decide(game, Ending::bad_program, Side::solver);
        return Unit{};
    }
    const bool has_writer = move.record.writer != kernels::kNoWriter;
    if (has_writer != std::holds_alternative<Written>(move.source)) return Unexpected{MoveError::wrong_opening};
    return has_writer ? written(game, move, std::get<Written>(move.source))
                      : unwritten(game, move, std::get<Unwritten>(move.source));
}

}  // namespace retrace::verifier
