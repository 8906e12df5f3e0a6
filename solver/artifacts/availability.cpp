// SPDX-License-Identifier: MIT
#include "solver/artifacts/availability.hpp"

#include "kernels/exec/tile_form.hpp"
#include "merkle/tree/proof_codec.hpp"

namespace retrace::solver {
namespace {

constexpr std::size_t kSiblingsMax = 64;
constexpr std::size_t kTileBytesMax = 4096;

/// The number to prove: `wanted`, or 0 if the report names something that does not exist.
template <class Number>
Number existing(Number wanted, std::uint64_t count) {
    return wanted < count ? wanted : Number{0};
}

Status<> verify_leaf(const Hash32& root, std::uint64_t leaves, std::uint64_t index, const Hash32& leaf,
                     const merkle::MultiProof& proof, const char* what) {
    const merkle::IndexedLeaf at{index, leaf};
    if (!merkle::verify(root, leaves, {&at, 1}, proof)) return error(std::string(what) + " is not proved");
    return Unit{};
}

Status<> verify_tile(const TileAnswer& answer, std::uint64_t tile) {
    const kernels::Geometry shape = kernels::geometry(answer.header.dims);
    const std::uint64_t tiles = shape.tiles();
    if (tiles == 0) return answer.tile.empty() ? Status<>(Unit{}) : error("a tile of a tensor without elements");
    // A root can commit to other bytes, but then no tensor hashes to it, and nobody could continue from it.
    if (!kernels::is_tile(answer.tile, answer.header.dtype, shape, existing(tile, tiles)))
        return error("the tile has another length, nonzero padding or a bool other than 0 and 1");
    return verify_leaf(answer.header.tree_root, tiles, existing(tile, tiles), merkle::tile_leaf(answer.tile),
                       answer.proof, "the tile");
}

}  // namespace

Bytes encode(const TileAnswer& answer) {
    Writer out;
    out.boolean(answer.state.has_value());
    if (answer.state) {
        answer.state->header.encode_to(out);
        answer.state->program.encode_to(out);
        merkle::encode_to(out, answer.state->proof);
    }
    answer.header.encode_to(out);
    out.bytes(answer.tile);
    merkle::encode_to(out, answer.proof);
    return std::move(out).take();
}

Result<TileAnswer, CodecError> decode_tile_answer(View bytes) {
    if (bytes.size() > kTileAnswerBytesMax) return Unexpected{CodecError::too_long};
    Reader in(bytes);
    TileAnswer answer;
    if (in.boolean()) {
        TileAnswer::InState state;
        state.header = kernels::StateHeader::decode_from(in);
        state.program = kernels::ProgramHeader::decode_from(in);
        state.proof = merkle::decode_multi_proof(in, kSiblingsMax);
        answer.state = std::move(state);
    }
    answer.header = kernels::TensorHeader::decode_from(in);
    answer.tile = to_bytes(in.bytes(kTileBytesMax));
    answer.proof = merkle::decode_multi_proof(in, kSiblingsMax);
    RETRACE_CHECK(in.finish());
    return answer;
}

Status<> verify_state_tile(const TileAnswer& answer, const Hash32& program_root, const Hash32& state_root,
                           std::uint32_t tensor, std::uint64_t tile) {
    if (!answer.state) return error("the state is not opened");
    if (answer.state->header.root() != state_root) return error("another state is opened");
    if (answer.state->program.root() != program_root) return error("another program is opened");
    const std::uint32_t states = answer.state->program.states;
    // For a state without tensors the headers are the answer; the reporter must not win because no tile exists.
    if (states == 0) return answer.tile.empty() ? Status<>(Unit{}) : error("a tile of a state without tensors");
    const std::uint32_t shown = existing(tensor, states);
    RETRACE_CHECK(verify_leaf(answer.state->header.tree_root, states, shown,
                              kernels::state_leaf(shown, answer.header.root()), answer.state->proof, "the tensor"));
    return verify_tile(answer, shown == tensor ? tile : 0);
}

Status<> verify_tensor_tile(const TileAnswer& answer, const Hash32& tensor_root, std::uint64_t tile) {
    if (answer.state) return error("a data set lies in no state");
    if (answer.header.root() != tensor_root) return error("another tensor is opened");
    return verify_tile(answer, tile);
}

Bytes encode(const ProgramAnswer& answer) {
    Writer out;
    answer.header.encode_to(out);
    out.bytes(answer.record);
    merkle::encode_to(out, answer.proof);
    return std::move(out).take();
}

Result<ProgramAnswer, CodecError> decode_program_answer(View bytes) {
    if (bytes.size() > kTileAnswerBytesMax) return Unexpected{CodecError::too_long};
    Reader in(bytes);
    ProgramAnswer answer;
    answer.header = kernels::ProgramHeader::decode_from(in);
    answer.record = to_bytes(in.bytes(kTileBytesMax));
    answer.proof = merkle::decode_multi_proof(in, kSiblingsMax);
    RETRACE_CHECK(in.finish());
    return answer;
}

Status<> verify_program_record(const ProgramAnswer& answer, const Hash32& program_root, std::uint32_t list,
                               std::uint64_t index) {
    if (answer.header.root() != program_root) return error("another program is opened");
    const std::uint64_t count = list == 0 ? answer.header.ops : answer.header.tensors();
    if (count == 0) return answer.record.empty() ? Status<>(Unit{}) : error("a record of an empty list");
    const auto shown = static_cast<std::uint32_t>(existing(index, count));
    return verify_leaf(list == 0 ? answer.header.op_tree : answer.header.tensor_tree, count, shown,
                       merkle::indexed_leaf(merkle::Tag::record_leaf, shown, answer.record), answer.proof,
                       "the record");
}

ProgramAnswer answer_program(const kernels::CommittedProgram& program, std::uint32_t list, std::uint64_t index) {
    const merkle::TileTree& tree = list == 0 ? program.op_tree() : program.tensor_tree();
    ProgramAnswer answer;
    answer.header = program.header();
    if (tree.leaf_count() == 0) return answer;
    const std::uint64_t shown = existing(index, tree.leaf_count());
    answer.record = list == 0 ? kernels::encode_record(program.program().ops[shown])
                              : kernels::encode_record(program.program().tensors[shown]);
    answer.proof = tree.prove({&shown, 1});
    return answer;
}

TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, std::uint64_t tile, kernels::ThreadPool& pool) {
    return answer_tensor_tile(tensor, kernels::tile_tree(tensor, pool), tile);
}

TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, const merkle::TileTree& tree, std::uint64_t tile) {
    TileAnswer answer;
    answer.header = {tensor.dtype, tensor.dims, tree.root()};
    if (tree.leaf_count() == 0) return answer;
    const std::uint64_t shown = existing(tile, tree.leaf_count());
    answer.tile = kernels::tile_bytes(tensor, shown);
    answer.proof = tree.prove({&shown, 1});
    return answer;
}

TileAnswer answer_empty_state(const kernels::ProgramHeader& program, const kernels::StateCommitment& commitment) {
    TileAnswer nothing;
    nothing.state = TileAnswer::InState{commitment.header, program, {}};
    return nothing;
}

TileAnswer answer_state_tile(const kernels::ProgramHeader& program, const kernels::StateCommitment& commitment,
                             const kernels::State& state, std::uint32_t tensor, std::uint64_t tile,
                             kernels::ThreadPool& pool) {
    if (state.tensors.empty()) return answer_empty_state(program, commitment);
    const std::uint64_t shown = existing(tensor, state.tensors.size());
    TileAnswer answer = answer_tensor_tile(state.tensors.at(shown), shown == tensor ? tile : 0, pool);
    answer.state = TileAnswer::InState{commitment.header, program, commitment.tree().prove({&shown, 1})};
    return answer;
}

}  // namespace retrace::solver
