// SPDX-License-Identifier: MIT
#include "kernels/commit/commitment.hpp"

#include <array>

#include "kernels/commit/contract.hpp"
#include "kernels/commit/tile_hash.hpp"
#include "kernels/program/limits.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

using merkle::Tag;

constexpr std::uint64_t kTilesPerRun = 16;  ///< Minimum number of tiles that a thread takes.

/// A tile preceded by its tag and padded to whole blocks of SHA-256, so that it is gathered in place and hashed in one
/// call. The tile itself is aligned, so the message begins one byte before it.
class TileMessage {
public:
    explicit TileMessage(std::uint32_t element_size) : size_(1 + std::size_t{1024} * element_size) {
        begin()[0] = static_cast<std::uint8_t>(Tag::tile);
        begin()[size_] = 0x80;
        for (int i = 0; i < 8; ++i) begin()[blocks() * 64 - 1 - i] = static_cast<std::uint8_t>(8 * size_ >> 8 * i);
    }
    std::uint8_t* begin() { return buffer_.data() + 63; }
    std::uint8_t* tile() { return buffer_.data() + 64; }
    View message() { return View(begin(), size_); }
    std::size_t blocks() const { return (size_ + 9 + 63) / 64; }

private:
    std::size_t size_;
    alignas(64) std::array<std::uint8_t, 64 + 4096 + 64> buffer_{};
};

Hash32 hash_of(Tag tag, const Writer& body) {
    const std::uint8_t head = static_cast<std::uint8_t>(tag);
    return merkle::sha256({View(&head, 1), body.data()});
}

}  // namespace

Hash32 TensorHeader::root() const {
    Writer out;
    encode_to(out);
    return hash_of(Tag::tensor, out);
}

void TensorHeader::encode_to(Writer& out) const {
    out.u8(static_cast<std::uint8_t>(dtype)).u8(static_cast<std::uint8_t>(dims.size()));
    for (const std::uint64_t extent : dims) out.u64(extent);
    out.hash(tree_root);
}

TensorHeader TensorHeader::decode_from(Reader& in) {
    TensorHeader header;
    header.dtype = static_cast<DType>(in.u8());
    if (in.ok() && !is_dtype(header.dtype)) in.fail(CodecError::not_canonical);
    header.dims.resize(in.enumerated(0, kRankMax));
    for (std::uint64_t& extent : header.dims) extent = in.u64();
    if (in.ok() && !check_dims(header.dims)) in.fail(CodecError::too_long);
    header.tree_root = in.hash();
    return header;
}

Hash32 StateHeader::root() const {
    Writer out;
    encode_to(out);
    return hash_of(Tag::state, out);
}

void StateHeader::encode_to(Writer& out) const { out.hash(contract).hash(program).u64(step).hash(tree_root); }

StateHeader StateHeader::decode_from(Reader& in) {
    StateHeader header;
    header.contract = in.hash();
    header.program = in.hash();
    header.step = in.u64();
    header.tree_root = in.hash();
    return header;
}

namespace {

/// Hashes `count` tiles, the n-th of which is tile at(n); each leaf is stored in `leaves` at the index of its tile.
template <class At>
void hash_each(const std::uint8_t* data, DType dtype, const Dims& dims, std::uint64_t count, At at,
               std::vector<Hash32>& leaves, ThreadPool& pool) {
    const Geometry shape = geometry(dims);
    const std::uint32_t size = size_of(dtype);
    const HashPair pair = hash_pair();
    pool.parallel_for(count, kTilesPerRun, [&](std::uint64_t begin, std::uint64_t end) {
        TileMessage first(size), second(size);
        for (; pair != nullptr && begin + 2 <= end; begin += 2) {
            gather_tile(data, size, shape, at(begin), first.tile());
            gather_tile(data, size, shape, at(begin + 1), second.tile());
            pair(first.begin(), second.begin(), first.blocks(), leaves[at(begin)].data(), leaves[at(begin + 1)].data());
        }
        for (; begin < end; ++begin) {
            gather_tile(data, size, shape, at(begin), first.tile());
            leaves[at(begin)] = merkle::sha256(first.message());
        }
    });
}

}  // namespace

void hash_tiles(const std::uint8_t* data, DType dtype, const Dims& dims, std::span<const std::uint64_t> which,
                std::vector<Hash32>& leaves, ThreadPool& pool) {
    hash_each(
        data, dtype, dims, which.size(), [&](std::uint64_t n) { return which[n]; }, leaves, pool);
}

std::vector<Hash32> tile_leaves(const std::uint8_t* data, DType dtype, const Dims& dims, ThreadPool& pool) {
    std::vector<Hash32> leaves(geometry(dims).tiles());
    hash_each(
        data, dtype, dims, leaves.size(), [](std::uint64_t n) { return n; }, leaves, pool);
    return leaves;
}

Hash32 tensor_root(const std::uint8_t* data, DType dtype, const Dims& dims, ThreadPool& pool) {
    return TensorHeader{dtype, dims, merkle::tree_root(tile_leaves(data, dtype, dims, pool))}.root();
}

merkle::TileTree tile_tree(const Tensor& tensor, ThreadPool& pool) {
    return merkle::TileTree(tile_leaves(tensor.data.data(), tensor.dtype, tensor.dims, pool));
}

Hash32 tensor_root(const Tensor& tensor, ThreadPool& pool) {
    return tensor_root(tensor.data.data(), tensor.dtype, tensor.dims, pool);
}

Hash32 state_leaf(std::uint32_t index, const Hash32& tensor_root) {
    return merkle::indexed_leaf(Tag::state_leaf, index, view(tensor_root));
}

Hash32 trace_leaf(std::uint32_t op, const Hash32& output_root) {
    return merkle::indexed_leaf(Tag::trace_leaf, op, view(output_root));
}

merkle::TileTree trace_tree(const std::vector<Hash32>& output_roots) {
    std::vector<Hash32> leaves;
    leaves.reserve(output_roots.size());
    for (const Hash32& root : output_roots) {
        leaves.push_back(trace_leaf(static_cast<std::uint32_t>(leaves.size()), root));
    }
    return merkle::TileTree(std::move(leaves));
}

merkle::TileTree StateCommitment::tree() const {
    std::vector<Hash32> leaves;
    leaves.reserve(tensor_roots.size());
    for (const Hash32& root : tensor_roots) {
        leaves.push_back(state_leaf(static_cast<std::uint32_t>(leaves.size()), root));
    }
    return merkle::TileTree(std::move(leaves));
}

StateCommitment commit_state(const Hash32& program_root, const State& state, ThreadPool& pool) {
    std::vector<Hash32> roots;
    roots.reserve(state.tensors.size());
    for (const Tensor& tensor : state.tensors) roots.push_back(tensor_root(tensor, pool));
    return commit_roots(program_root, state.step, std::move(roots));
}

StateCommitment commit_next(const Program& program, const StateCommitment& before, const State& state,
                            ThreadPool& pool) {
    ensure(before.tensor_roots.size() == program.states && state.tensors.size() == program.states,
           "a commitment of the same state tensors");
    std::vector<Hash32> roots = before.tensor_roots;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        if (program.tensors[i].writer != kNoWriter) roots[i] = tensor_root(state.tensors[i], pool);
    }
    return commit_roots(before.header.program, state.step, std::move(roots));
}

StateCommitment commit_roots(const Hash32& program_root, std::uint64_t step, std::vector<Hash32> tensor_roots) {
    StateCommitment out;
    out.tensor_roots = std::move(tensor_roots);
    out.header = {contract_hash(), program_root, step, out.tree().root()};
    out.root = out.header.root();
    return out;
}

}  // namespace retrace::kernels
