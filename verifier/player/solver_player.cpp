// SPDX-License-Identifier: MIT
#include <set>

#include "merkle/base/ensure.hpp"
#include "verifier/player/player.hpp"

namespace retrace::verifier {
namespace {

merkle::MultiProof prove_one(const merkle::TileTree& tree, std::uint64_t index) { return tree.prove({&index, 1}); }

Result<Move> open_state_of(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    OpenState move{replay.output_of(t).header, replay.steps().opened_at(t).header()};
    if (move.header.root() != game.search.high_hash) return error("the replay does not lead to the committed state");
    return Move(move);
}

Result<Move> open_trace_of(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    const std::uint32_t tensor = game.found.state_tensor;
    const kernels::CommittedProgram& played = replay.steps().program_at(t);
    OpenTrace move;
    move.tensor_root = replay.output_of(t).tensor_roots[tensor];
    move.program = played.header();
    move.record = played.program().tensors[tensor];
    move.record_proof = prove_one(played.tensor_tree(), tensor);
    const std::uint32_t writer = move.record.writer;
    if (writer == kernels::kNoWriter) {
        const kernels::StateCommitment& input = replay.input_of(t);
        move.source = Unwritten{input.header, input.tensor_roots[tensor], prove_one(input.tree(), tensor)};
        return Move(std::move(move));
    }
    if (replay.trace_of(t)[writer] != move.tensor_root) return error("the trace does not lead to the committed state");
    const merkle::TileTree& trace = replay.trace_tree_of(t);
    move.source = Written{trace.root(), prove_one(trace, writer)};
    return Move(std::move(move));
}

Move open_tensor_of(const Game& game, Replayer& replay) {
    const std::uint64_t t = game.found.step;
    const std::uint32_t op = game.found.op;
    const kernels::CommittedProgram& played = replay.steps().program_at(t);
    const std::uint32_t output = played.program().output_of(op);
    replay.prepare_op(t, op);
    OpenTensor move;
    const kernels::Tensor& tensor = replay.tensor_of(t, output);
    move.header = {tensor.dtype, tensor.dims, replay.tiles_of(t, output).root()};
    move.op = played.program().ops[op];
    move.op_proof = prove_one(played.op_tree(), op);
    std::set<std::uint64_t> numbers(move.op.inputs.begin(), move.op.inputs.end());
    numbers.insert(output);
    for (const std::uint64_t number : numbers) move.records.push_back(played.program().tensors[number]);
    move.records_proof = played.tensor_tree().prove(std::vector<std::uint64_t>(numbers.begin(), numbers.end()));
    return move;
}

}  // namespace

Result<Move> solver_move(const Game& game, Replayer& replay) {
    ensure(game.mover == Side::solver, "the solver's turn");
    switch (game.phase) {
        case Phase::search_steps:
        case Phase::descend_state:
        case Phase::descend_trace:
        case Phase::descend_tiles:
        case Phase::search_links: return Move(PostHashes{own_hashes(game, replay)});
        case Phase::open_state: return open_state_of(game, replay);
        case Phase::open_trace: return open_trace_of(game, replay);
        case Phase::open_tensor: return open_tensor_of(game, replay);
        case Phase::open_tile: return Move(OpenTile{own_tile(game, replay)});
        default: ensure(false, "a phase of the solver"); return error("");
    }
}

}  // namespace retrace::verifier
