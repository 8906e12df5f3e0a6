// SPDX-License-Identifier: MIT
// Incremental commitments that are hashed in the background equal commitments of the whole state.
#include "kernels/commit/committer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kernels/builder/compose.hpp"
#include "kernels/exec/executor.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

/// Four written state tensors of awkward shapes and one without a writer.
Program shapes_program() {
    Program program;
    program.states = 5;
    const std::vector<Dims> shapes{{70, 100}, {33}, {}, {5, 3, 3, 40}, {64, 64}};
    for (const Dims& dims : shapes)
        program.tensors.push_back({TensorKind::state, dims.size() == 1 ? DType::u8 : DType::f32, dims, 0, ""});
    program.tensors.back().writer = kNoWriter;
    return program;
}

State random_state(const Program& program, std::mt19937_64& random) {
    State state;
    for (const TensorRecord& record : program.tensors) {
        state.tensors.push_back(zeros(record.dtype, record.dims));
        for (auto& byte : state.tensors.back().data) byte = static_cast<std::uint8_t>(random());
    }
    return state;
}

TEST(StateCommitter, FollowsRandomChangesAndHashesOnlyTheirTiles) {
    const Program program = shapes_program();
    const Hash32 root = merkle::sha256(view("p"));
    ThreadPool pool(2);
    std::mt19937_64 random(7);
    for (const unsigned threads : {1u, 3u}) {
        State state = random_state(program, random);
        StateCommitter committer(program, root, threads);
        committer.begin(state, pool);
        EXPECT_EQ(committer.finish().root, commit_state(root, state, pool).root);
        for (int round = 0; round < 60; ++round) {
            ++state.step;
            std::set<std::pair<std::uint64_t, std::uint64_t>> tiles;
            for (std::uint64_t n = random() % 4; n > 0; --n) {
                const std::uint64_t at = random() % 4;
                Tensor& tensor = state.tensors[at];
                const std::uint64_t element = random() % tensor.elements();
                const std::size_t byte = element * size_of(tensor.dtype);
                // Odd numbers added twice to one byte may cancel out only after 256 additions.
                tensor.data[byte] = static_cast<std::uint8_t>(tensor.data[byte] + 1);
                tiles.insert({at, geometry(tensor.dims).tile_of(element)});
            }
            committer.begin(state, pool);
            ASSERT_EQ(committer.finish().root, commit_state(root, state, pool).root) << "round " << round;
            ASSERT_EQ(committer.tiles_hashed(), tiles.size());
            ASSERT_EQ(committer.state(), state);
        }
    }
}

TEST(StateCommitter, HashesTheStateOfBeginWhateverIsTrainedMeanwhile) {
    const Program program = shapes_program();
    const Hash32 root = merkle::sha256(view("p"));
    ThreadPool pool(2);
    std::mt19937_64 random(8);
    State state = random_state(program, random);
    StateCommitter committer(program, root);
    for (int round = 0; round < 20; ++round) {
        const Hash32 expected = commit_state(root, state, pool).root;
        committer.begin(state, pool);
        EXPECT_TRUE(committer.under_way());
        State next = random_state(program, random);
        next.tensors[4] = state.tensors[4];  // no op writes it
        state = next;
        EXPECT_EQ(committer.finish().root, expected);
        EXPECT_FALSE(committer.under_way());
    }
    committer.begin(state, pool);  // and is destroyed while one is in progress
}

TEST(StateCommitter, SaysBeforehandWhatItTakes) {
    // A copy of 70·100·4 + 33 + 4 + 1800·4 + 4096·4 bytes and 40 bytes for each of 12 + 2 + 1 + 4 + 4 tiles.
    EXPECT_EQ(StateCommitter::planned_bytes(shapes_program()), 51621u + 40 * 23);
}

TEST(StateCommitter, AnEmbeddingTrainedWithoutDecayIsHashedWhereTokensWere) {
    constexpr std::uint64_t kRows = 4096, kWidth = 64;
    Graph g;
    const Value table = g.state("table", DType::f32, {kRows, kWidth});
    const Value index = g.constant(DType::i32, {2}, {5, 0, 0, 0, 7, 0, 0, 0});
    const Value dy = fill(g, 1.0f, {2, kWidth});
    const Value gradient = g.op(OpCode::scatter_add_rows, {dy, index}, {kRows});
    g.set_next(table, fma(g, g.scalar(-0.1f), gradient, table));
    const Program program = *g.build();
    ThreadPool pool(2);
    Executor executor(program, pool);
    State state{0, {zeros(DType::f32, {kRows, kWidth})}};
    for (std::uint64_t e = 0; e < kRows * kWidth; ++e) state.tensors[0].f32()[e] = 0.5f;
    StateCommitter committer(program, Hash32{});
    committer.begin(state, pool);
    committer.finish();
    EXPECT_EQ(committer.tiles_hashed(), 256u);
    executor.step(state, {});
    committer.begin(state, pool);
    EXPECT_EQ(committer.finish().root, commit_state(Hash32{}, state, pool).root);
    EXPECT_EQ(committer.tiles_hashed(), 2u);
}

}  // namespace
}  // namespace retrace::kernels
