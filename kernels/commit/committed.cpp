// SPDX-License-Identifier: MIT
#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

using merkle::Tag;

template <class Records>
merkle::TileTree record_tree(const Records& records) {
    std::vector<Hash32> leaves;
    leaves.reserve(records.size());
    for (const auto& record : records) {
        leaves.push_back(
            merkle::indexed_leaf(Tag::record_leaf, static_cast<std::uint32_t>(leaves.size()), encode_record(record)));
    }
    return merkle::TileTree(std::move(leaves));
}

merkle::TileTree constant_tree_of(const Program& program) {
    ThreadPool pool(1);
    std::vector<Hash32> leaves;
    leaves.reserve(program.constants);
    for (std::uint32_t i = 0; i < program.constants; ++i) {
        const TensorRecord& record = program.tensors[program.states + i];
        const Tensor tensor{record.dtype, record.dims, program.constant_data[i].data};
        leaves.push_back(merkle::indexed_leaf(Tag::record_leaf, i, view(tensor_root(tensor, pool))));
    }
    return merkle::TileTree(std::move(leaves));
}

}  // namespace

void ProgramHeader::encode_to(Writer& out) const {
    out.u32(version).u32(states).u32(constants).u32(datasets).u32(ops);
    out.hash(op_tree).hash(tensor_tree).hash(constant_tree);
}

ProgramHeader ProgramHeader::decode_from(Reader& in) {
    ProgramHeader header;
    header.version = in.u32();
    header.states = in.u32();
    header.constants = in.u32();
    header.datasets = in.u32();
    header.ops = in.u32();
    // This check guarantees that later sums of these counts fit 32 bits.
    const std::uint64_t tensors = std::uint64_t{header.states} + header.constants + header.datasets + header.ops;
    if (header.version != 1 || tensors > Limits{}.tensors) in.fail(CodecError::not_canonical);
    header.op_tree = in.hash();
    header.tensor_tree = in.hash();
    header.constant_tree = in.hash();
    return header;
}

Hash32 ProgramHeader::root() const {
    Writer out;
    out.u8(static_cast<std::uint8_t>(Tag::program));
    encode_to(out);
    return merkle::sha256(out.data());
}

CommittedProgram::CommittedProgram(Program program)
    : program_(std::move(program)),
      ops_(record_tree(program_.ops)),
      tensors_(record_tree(program_.tensors)),
      constants_(constant_tree_of(program_)) {
    header_.version = program_.version;
    header_.states = program_.states;
    header_.constants = program_.constants;
    header_.datasets = program_.datasets;
    header_.ops = static_cast<std::uint32_t>(program_.ops.size());
    header_.op_tree = ops_.root();
    header_.tensor_tree = tensors_.root();
    header_.constant_tree = constants_.root();
    root_ = header_.root();
}

}  // namespace retrace::kernels
