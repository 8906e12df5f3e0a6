// SPDX-License-Identifier: MIT
// The program file (program.rtp), its limits, its checker and its commitment (kernels 5).
#pragma once

#include "kernels/program/program.hpp"
#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::kernels {

/// Limits checked before anything is allocated. They are the same on every chain.
struct Limits {
    std::uint32_t ops = 1u << 20;
    std::uint32_t tensors = 1u << 21;
    std::uint64_t elements = 1ull << 36;         ///< Maximum elements of one tensor.
    std::uint64_t step_cost = 1ull << 50;        ///< Multiply-adds of one step, by the cost rules.
    std::uint64_t constant_bytes = 64ull << 20;  ///< Maximum bytes of all constants together.
};

Bytes encode(const Program& program);
/// Decodes and checks (see `check`); the error names the op or tensor and the rule.
Result<Program> decode_program(View bytes, const Limits& limits = {});
/// Checks shape rules, references, writers (one per state tensor) and limits. A decoded or built program that passes
/// can be run.
Status<> check(const Program& program, const Limits& limits = {});
/// Multiply-adds of one step by the ops' cost rules.
std::uint64_t step_cost(const Program& program);

Bytes encode_record(const OpRecord& record);
Bytes encode_record(const TensorRecord& record);
Result<OpRecord> decode_op_record(View bytes);
Result<TensorRecord> decode_tensor_record(View bytes);

/// The preimage of a program root: H(05 ‖ version u32 ‖ states u32 ‖ constants u32 ‖ datasets u32 ‖ ops u32
/// ‖ op tree root ‖ tensor tree root ‖ constant tree root). Leaves are indexed_leaf(record_leaf, i, encoded
/// record); the constant leaves hold tensor roots: indexed_leaf(record_leaf, i, tensor root of constant i).
struct ProgramHeader {
    std::uint32_t version = 1, states = 0, constants = 0, datasets = 0, ops = 0;
    Hash32 op_tree, tensor_tree, constant_tree;
    bool operator==(const ProgramHeader&) const = default;

    std::uint32_t tensors() const noexcept { return states + constants + datasets + ops; }
    std::uint32_t tensors_static() const noexcept { return states + constants + datasets; }
    Hash32 root() const;
    void encode_to(Writer& out) const;
    static ProgramHeader decode_from(Reader& in);
};

/// A program with its trees in memory, from which any record can be proved.
class CommittedProgram {
public:
    explicit CommittedProgram(Program program);  ///< The program must have passed `check`.
    const Program& program() const noexcept { return program_; }
    const ProgramHeader& header() const noexcept { return header_; }
    const Hash32& root() const noexcept { return root_; }
    const merkle::TileTree& op_tree() const noexcept { return ops_; }
    const merkle::TileTree& tensor_tree() const noexcept { return tensors_; }
    const merkle::TileTree& constant_tree() const noexcept { return constants_; }

private:
    Program program_;
    ProgramHeader header_;
    Hash32 root_;
    merkle::TileTree ops_, tensors_, constants_;
};

}  // namespace retrace::kernels
