// SPDX-License-Identifier: MIT
// SPEC 4.3. The solver opens the header of the disputed output and the static facts of the op that made it.
#include <algorithm>
#include <set>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/limits.hpp"
#include "verifier/game/moves.hpp"
#include "verifier/game/narrowing.hpp"

namespace retrace::verifier {
namespace {

using kernels::TensorKind;
using kernels::TensorRecord;

/// The tensor numbers whose records are opened: the op's inputs, each once, then its output.
std::vector<std::uint32_t> opened_tensors(const kernels::OpRecord& op, std::uint32_t output) {
    const std::set<std::uint32_t> inputs(op.inputs.begin(), op.inputs.end());
    std::vector<std::uint32_t> numbers(inputs.begin(), inputs.end());
    numbers.push_back(output);
    return numbers;
}

InputOrigin origin_of(const kernels::ProgramHeader& program, std::uint32_t tensor) {
    if (tensor < program.states) return {TensorKind::state, tensor};
    tensor -= program.states;
    if (tensor < program.constants) return {TensorKind::constant, tensor};
    tensor -= program.constants;
    if (tensor < program.datasets) return {TensorKind::data, tensor};
    return {TensorKind::op_output, tensor - program.datasets};
}

/// Fills in the op with its operands; false when the opened records are not a valid op.
bool take_facts(Game& game, const OpenTensor& move, const std::vector<std::uint32_t>& numbers) {
    game.op = {};
    game.op.op = move.op;
    for (const std::uint32_t tensor : move.op.inputs) {
        const auto at = std::lower_bound(numbers.begin(), numbers.end() - 1, tensor) - numbers.begin();
        const TensorRecord& record = move.records[static_cast<std::size_t>(at)];
        const InputOrigin origin = origin_of(game.program, tensor);
        if (record.kind != origin.kind || !kernels::check_dims(record.dims)) return false;
        game.op.inputs.push_back({record.dtype, record.dims});
        game.op_inputs.push_back(origin);
    }
    const TensorRecord& output = move.records.back();
    game.op.output = {output.dtype, output.dims};
    return output.kind == TensorKind::op_output && kernels::check_dims(output.dims).has_value() &&
           kernels::check_facts(game.op).has_value();
}

}  // namespace

Status<MoveError> open_tensor(Game& game, const OpenTensor& move) {
    const kernels::ProgramHeader& program = game.program;
    const std::uint32_t op = game.found.op;
    if (kernels::trace_leaf(op, move.header.root()) != game.descent.node) return Unexpected{MoveError::wrong_leaf};
    const Hash32 op_leaf = merkle::indexed_leaf(merkle::Tag::record_leaf, op, kernels::encode_record(move.op));
    if (!proves(program.op_tree, program.ops, op, op_leaf, move.op_proof)) return Unexpected{MoveError::bad_proof};

    const std::uint32_t output = program.tensors_static() + op;
    const std::vector<std::uint32_t>& inputs = move.op.inputs;
    const auto is_early = [&](std::uint32_t tensor) { return tensor < output; };
    if (inputs.size() > kOpInputsMax || !std::all_of(inputs.begin(), inputs.end(), is_early)) {
        decide(game, Ending::bad_program, Side::solver);
        return Unit{};
    }
    const std::vector<std::uint32_t> numbers = opened_tensors(move.op, output);
    if (move.records.size() != numbers.size()) return Unexpected{MoveError::wrong_count};
    std::vector<merkle::IndexedLeaf> leaves;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        leaves.push_back({numbers[i], merkle::indexed_leaf(merkle::Tag::record_leaf, numbers[i],
                                                           kernels::encode_record(move.records[i]))});
    }
    if (!merkle::verify(program.tensor_tree, program.tensors(), leaves, move.records_proof)) {
        return Unexpected{MoveError::bad_proof};
    }

    if (!take_facts(game, move, numbers)) {
        decide(game, Ending::bad_program, Side::solver);
        return Unit{};
    }
    const std::uint64_t tiles = kernels::geometry(game.op.output.dims).tiles();
    const bool right = move.header.dtype == game.op.output.dtype && move.header.dims == game.op.output.dims;
    if (!right || (tiles == 0 && !move.header.tree_root.is_zero())) {
        decide(game, Ending::wrong_header, Side::solver);
    } else if (tiles == 0) {
        decide(game, Ending::nothing_disputed, Side::challenger);
    } else {
        enter_descent(game, Phase::descend_tiles, descend_from(tiles, move.header.tree_root));
    }
    return Unit{};
}

}  // namespace retrace::verifier
