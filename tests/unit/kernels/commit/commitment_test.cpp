// SPDX-License-Identifier: MIT
#include "kernels/commit/commitment.hpp"

#include <gmock/gmock.h>

#include <random>

#include "kernels/commit/contract.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

Tensor random_tensor(DType dtype, Dims dims, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Tensor tensor = zeros(dtype, std::move(dims));
    for (auto& byte : tensor.data) byte = static_cast<std::uint8_t>(random());
    return tensor;
}

/// A naive implementation of contract 6, element by element.
Hash32 plain_root(const Tensor& tensor) {
    const Geometry shape = geometry(tensor.dims);
    const std::uint32_t size = size_of(tensor.dtype);
    std::vector<Hash32> level;
    for (std::uint64_t tr = 0; tr < shape.rows; tr += 32) {
        for (std::uint64_t tc = 0; tc < shape.cols; tc += 32) {
            Bytes tile{0x00};
            for (std::uint64_t r = tr; r < tr + 32; ++r) {
                for (std::uint64_t c = tc; c < tc + 32; ++c) {
                    for (std::uint32_t b = 0; b < size; ++b) {
                        const bool inside = r < shape.rows && c < shape.cols;
                        tile.push_back(inside ? tensor.data[(r * shape.cols + c) * size + b] : 0);
                    }
                }
            }
            level.push_back(merkle::sha256(tile));
        }
    }
    while (level.size() > 1) {
        std::vector<Hash32> next;
        for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(merkle::node_hash(level[i], level[i + 1]));
        if (level.size() % 2 == 1) next.push_back(level.back());
        level = next;
    }
    Writer out;
    out.u8(0x02).u8(static_cast<std::uint8_t>(tensor.dtype)).u8(static_cast<std::uint8_t>(tensor.dims.size()));
    for (const std::uint64_t d : tensor.dims) out.u64(d);
    out.hash(level.empty() ? Hash32{} : level[0]);
    return merkle::sha256(out.data());
}

TEST(Commitment, TensorRootsFollowTheDefinitionOnAnyNumberOfThreads) {
    ThreadPool one(1), three(3);
    const std::vector<Dims> shapes{{},       {1},        {32},       {33},   {31, 1}, {32, 32},
                                   {33, 32}, {5, 7, 40}, {200, 130}, {0, 5}, {4, 0}};
    for (const DType dtype : {DType::f32, DType::i8, DType::u8, DType::i32, DType::boolean}) {
        for (const Dims& dims : shapes) {
            const Tensor tensor = random_tensor(dtype, dims, dims.size());
            EXPECT_EQ(tensor_root(tensor, one), plain_root(tensor));
            EXPECT_EQ(tensor_root(tensor, three), plain_root(tensor));
            EXPECT_EQ((TensorHeader{dtype, dims, tile_tree(tensor, three).root()}.root()), plain_root(tensor));
        }
    }
}

TEST(Commitment, ATileHoldsTheElementsThatGeometrySays) {
    const Tensor tensor = random_tensor(DType::i32, {40, 70}, 1);
    const Geometry shape = geometry(tensor.dims);
    for (std::uint64_t e = 0; e < tensor.elements(); ++e) {
        const Bytes tile = tile_bytes(tensor, shape.tile_of(e));
        ASSERT_EQ(load_u32(tile.data() + 4 * shape.place_in_tile(e)), tensor.bits(e));
    }
    EXPECT_EQ(shape.tiles(), 6u);
}

TEST(Commitment, EveryPartOfAStateChangesItsRoot) {
    ThreadPool pool(1);
    State state{3, {random_tensor(DType::f32, {5, 5}, 1), random_tensor(DType::f32, {5, 5}, 2)}};
    const Hash32 program = merkle::sha256(view("program"));
    const StateCommitment base = commit_state(program, state, pool);
    EXPECT_EQ(base.header.contract, contract_hash());
    EXPECT_EQ(base.root, base.header.root());
    EXPECT_EQ(base.header.tree_root, base.tree().root());
    EXPECT_EQ(base.tree().node(0, 1), state_leaf(1, base.tensor_roots[1]));
    EXPECT_EQ(commit_roots(program, 3, base.tensor_roots).root, base.root);
    State other = state;
    other.step = 4;
    EXPECT_NE(commit_state(program, other, pool).root, base.root);
    other = state;
    std::swap(other.tensors[0], other.tensors[1]);
    EXPECT_NE(commit_state(program, other, pool).root, base.root);
    other = state;
    other.tensors[1].data[99] ^= 1;
    EXPECT_NE(commit_state(program, other, pool).root, base.root);
    EXPECT_NE(commit_state(merkle::sha256(view("another")), state, pool).root, base.root);
}

TEST(Commitment, HeadersFromOutsideAreDecodedStrictly) {
    const TensorHeader header{DType::i32, {3, 4}, merkle::sha256(view("tree"))};
    Writer out;
    header.encode_to(out);
    Reader in(out.data());
    EXPECT_EQ(TensorHeader::decode_from(in), header);
    EXPECT_TRUE(in.finish());
    for (std::size_t size = 0; size < out.data().size(); ++size) {
        Reader cut(View(out.data()).first(size));
        TensorHeader::decode_from(cut);
        EXPECT_FALSE(cut.finish());
    }
    for (const std::uint8_t dtype : {0, 5, 7}) {
        Bytes bytes = out.data();
        bytes[0] = dtype;
        Reader bad(bytes);
        TensorHeader::decode_from(bad);
        EXPECT_FALSE(bad.finish());
    }
    Writer huge;
    TensorHeader{DType::f32, {1ull << 63, 4}, {}}.encode_to(huge);
    Reader bad(huge.data());
    TensorHeader::decode_from(bad);
    EXPECT_FALSE(bad.finish());
}

TEST(Commitment, AStateHeaderRoundTrips) {
    const StateHeader header{contract_hash(), merkle::sha256(view("p")), 77, merkle::sha256(view("t"))};
    Writer out;
    header.encode_to(out);
    Reader in(out.data());
    EXPECT_EQ(StateHeader::decode_from(in), header);
    EXPECT_TRUE(in.finish());
}

TEST(Commitment, OfALaterStepHashesWhatTheProgramWrites) {
    ThreadPool pool(2);
    const Hash32 root = merkle::sha256(view("p"));
    Program program;
    program.states = 3;
    for (const std::uint32_t writer : {4u, kNoWriter, 0u}) {
        program.tensors.push_back({TensorKind::state, DType::f32, {40, 50}, writer, ""});
    }
    State state{0, {}};
    for (std::uint64_t i = 0; i < 3; ++i) state.tensors.push_back(random_tensor(DType::f32, {40, 50}, i));
    const StateCommitment before = commit_state(root, state, pool);
    state.step = 9;
    state.tensors[0] = random_tensor(DType::f32, {40, 50}, 10);
    state.tensors[2] = random_tensor(DType::f32, {40, 50}, 12);
    EXPECT_EQ(commit_next(program, before, state, pool).root, commit_state(root, state, pool).root);

    // The tensor without a writer is not hashed again.
    const Hash32 honest = commit_next(program, before, state, pool).root;
    state.tensors[1].data[7] ^= 1;
    EXPECT_EQ(commit_next(program, before, state, pool).root, honest);
}

TEST(Commitment, TheTraceTreeNumbersItsOps) {
    const std::vector<Hash32> roots{merkle::sha256(view("a")), merkle::sha256(view("b"))};
    EXPECT_EQ(trace_tree(roots).root(), merkle::node_hash(trace_leaf(0, roots[0]), trace_leaf(1, roots[1])));
}

}  // namespace
}  // namespace retrace::kernels
