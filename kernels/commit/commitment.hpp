// SPDX-License-Identifier: MIT
// Tensor roots, state roots and trace roots (contract 6; the trace tree: kernels/ops/SPEC.md).
#pragma once

#include <span>

#include "kernels/runtime/tensor.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::kernels {

/// The preimage of a tensor root: H(02 ‖ dtype u8 ‖ rank u8 ‖ dims u64 LE … ‖ tree root).
struct TensorHeader {
    DType dtype = DType::f32;
    Dims dims;
    Hash32 tree_root;
    bool operator==(const TensorHeader&) const = default;
    Hash32 root() const;
    void encode_to(Writer& out) const;
    static TensorHeader decode_from(Reader& in);  ///< The reader fails on a bad dtype or rank.
};

/// The preimage of a state root: H(03 ‖ contract hash ‖ program root ‖ step u64 LE ‖ tree root).
struct StateHeader {
    Hash32 contract, program;
    std::uint64_t step = 0;
    Hash32 tree_root;
    bool operator==(const StateHeader&) const = default;
    Hash32 root() const;
    void encode_to(Writer& out) const;
    static StateHeader decode_from(Reader& in);
};

merkle::TileTree tile_tree(const Tensor& tensor, ThreadPool& pool);
Hash32 tensor_root(const Tensor& tensor, ThreadPool& pool);
/// The same for elements in memory, row-major and little-endian.
std::vector<Hash32> tile_leaves(const std::uint8_t* data, DType dtype, const Dims& dims, ThreadPool& pool);
Hash32 tensor_root(const std::uint8_t* data, DType dtype, const Dims& dims, ThreadPool& pool);
/// Hashes the tiles `which`; each leaf is stored in `leaves` at the index of its tile.
void hash_tiles(const std::uint8_t* data, DType dtype, const Dims& dims, std::span<const std::uint64_t> which,
                std::vector<Hash32>& leaves, ThreadPool& pool);
/// H(04 ‖ index u32 LE ‖ tensor root)
Hash32 state_leaf(std::uint32_t index, const Hash32& tensor_root);
/// H(06 ‖ op u32 LE ‖ output root)
Hash32 trace_leaf(std::uint32_t op, const Hash32& output_root);
merkle::TileTree trace_tree(const std::vector<Hash32>& output_roots);

/// A state's commitment with the header and tensor roots that open it. Tile trees are not kept; they are recomputed per
/// tensor on demand.
struct StateCommitment {
    StateHeader header;
    std::vector<Hash32> tensor_roots;
    Hash32 root;
    merkle::TileTree tree() const;  ///< Over the state leaves.
};
StateCommitment commit_state(const Hash32& program_root, const State& state, ThreadPool& pool);
/// The same, given the commitment of an earlier step of the same training: tensors that no op of the program
/// writes keep their roots and are not hashed again.
StateCommitment commit_next(const Program& program, const StateCommitment& before, const State& state,
                            ThreadPool& pool);
/// Commits from tensor roots alone, for a receiver that has not fetched the tiles yet.
StateCommitment commit_roots(const Hash32& program_root, std::uint64_t step, std::vector<Hash32> tensor_roots);

}  // namespace retrace::kernels
