// SPDX-License-Identifier: MIT
// Computing attention a few heads at a time changes the memory of a step, but not its results.
#include "kernels/exec/chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/exec/executor.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/plan.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/any_programs.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/golden_trainings.hpp"
#include "tests/unit/kernels/op_cases.hpp"
#include "tests/unit/kernels/raw_program.hpp"

namespace retrace::kernels {
namespace {

using testing::Data;
using testing::random_state;

/// Forward and backward pass; the mask comes first because it would interrupt the run of ops.
Program attention(std::uint64_t heads, std::uint64_t tokens, std::uint64_t depth, bool causal) {
    return with_constants_first(testing::attention_program(heads, tokens, depth, causal));
}

std::size_t count(const Program& program, OpCode code) {
    return static_cast<std::size_t>(
        std::count_if(program.ops.begin(), program.ops.end(), [&](const OpRecord& op) { return op.code == code; }));
}

/// Expects two steps of `seen` on the reference back end to equal those of `program`.
void expect_the_same(const Program& program, const Program& seen, const State& start, const Inputs& inputs) {
    ASSERT_TRUE(check(seen)) << check(seen).error().message;
    ThreadPool pool(2);
    State expected = start, found = start;
    for (int step = 0; step < 2; ++step) {
        const auto metrics = Executor(program, pool, Backend::reference).step(expected, inputs);
        const auto own = Executor(seen, pool, Backend::reference).step(found, inputs);
        ASSERT_EQ(own.size(), metrics.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
            EXPECT_EQ(own[i].name, metrics[i].name);
            EXPECT_EQ(to_bits(own[i].value), to_bits(metrics[i].value));
        }
        ASSERT_EQ(found, expected);
    }
}

TEST(Chunks, AttentionGivesTheSameBitsInChunksOfAnySize) {
    std::uint64_t seed = 1;
    for (const bool causal : {false, true}) {
        const Program program = attention(7, 33, 20, causal);
        const std::uint64_t head = 33 * 33 * 4;
        std::size_t products = count(program, OpCode::matmul);
        for (const auto& [heads, pieces] : {std::pair{1, 7}, {2, 4}, {3, 3}, {5, 2}, {6, 2}}) {
            SCOPED_TRACE(heads);
            const Program chunks =
                with_runs_in_chunks(program, {head * static_cast<std::uint64_t>(heads), 64, 100'000});
            EXPECT_EQ(count(chunks, OpCode::matmul), products * static_cast<std::size_t>(pieces));
            for (const Data data : {Data::bell, Data::special})
                expect_the_same(program, chunks, random_state(program, data, ++seed), {});
        }
        EXPECT_EQ(with_runs_in_chunks(program, {head * 7, 64, 100'000}), program) << "all heads fit";
        EXPECT_EQ(with_runs_in_chunks(program, {head, 64, 20}), program) << "would be too long";
    }
}

TEST(Chunks, ThereAreNeverMoreThanAskedFor) {
    const Program program = attention(100, 3, 4, true);
    const Program chunks = with_runs_in_chunks(program, {1, 64, 100'000});
    EXPECT_EQ(count(chunks, OpCode::matmul), 50 * count(program, OpCode::matmul));  // by two heads
    expect_the_same(program, chunks, random_state(program, Data::bell, 1), {});
}

/// Tensors that the backward pass splits like the forward pass are never joined.
TEST(Chunks, WeightsStayInPieces) {
    const Program program = attention(8, 64, 8, true);
    const Program chunks = with_runs_in_chunks(program, {2 * 64 * 64 * 4, 64, 100'000});
    EXPECT_EQ(count(chunks, OpCode::matmul), 4 * count(program, OpCode::matmul));
    for (std::uint32_t op = 0; op < chunks.ops.size(); ++op) {
        if (chunks.ops[op].code == OpCode::concat || chunks.ops[op].code == OpCode::slice) {
            EXPECT_LT(geometry(chunks.tensors[chunks.output_of(op)].dims).elements(), 8u * 64 * 64);
        }
    }
}

TEST(Chunks, PublishedTrainingsWithAllThatIsComputedAgainGiveTheSameBits) {
    std::size_t changed = 0;
    for (const auto& [name, recipe] : golden::recipes()) {
        SCOPED_TRACE(name);
        const TrainingPrograms programs = golden::programs(recipe);
        const Program again = rematerialise(programs.train, {1, 8, 64});
        const Program chunks = with_runs_in_chunks(with_constants_first(again), {64, 3, 100'000});
        changed += count(chunks, OpCode::matmul) > count(again, OpCode::matmul);
        ASSERT_TRUE(check(chunks)) << check(chunks).error().message;
        ThreadPool pool(2);
        const auto [samples, labels] = golden::data(recipe.model);
        const Inputs inputs{golden::kSeed, {&samples, &labels}};
        const State start = run_initialiser(programs.init, golden::kSeed, pool);
        ASSERT_NO_FATAL_FAILURE(expect_the_same(programs.train, chunks, start, inputs));
    }
    EXPECT_GE(changed, 3u);
}

constexpr ChunkLimits kOneHead{21 * 21 * 4, 64, 100'000};

/// A run of two heads with a tensor that is also seen under other extents, or under its own. States: the heads, five
/// values, and `other`.
struct Strange : testing::RawProgram {
    std::uint32_t scores;
    explicit Strange(const Dims& other) : RawProgram({{2, 21, 1}, {5}, other}) {
        scores = op(OpCode::matmul, {0, 0}, {2, 21, 21}, {1, 0, 1});
    }
    /// Continues from the scores: the maximum of each row.
    std::uint32_t tops() { return op(OpCode::row_max, {op(OpCode::relu, {scores}, {2, 21, 21})}, {2, 21, 1}); }

    void expect_the_same_in_chunks() const {
        const Program chunks = with_runs_in_chunks(program, kOneHead);
        ASSERT_EQ(count(chunks, OpCode::matmul), 2u);
        expect_the_same(program, chunks, random_state(program, Data::bell, 3), {});
    }
};

TEST(Chunks, AStateThatBecomesAnotherOneInsideARunDoes) {
    for (const std::uint32_t shown : {1u, 2u}) {  // 2: the last tensor before the ops
        Strange s({5});
        s.set_next(s.op(OpCode::reshape, {shown}, {5}), 3 - shown);
        s.tops();
        s.expect_the_same_in_chunks();
    }
}

TEST(Chunks, AMetricInsideARunIsNotLost) {
    Strange s({1});
    s.set_next(s.tops());
    s.expect_the_same_in_chunks();
    s.program.tensors[s.op(OpCode::reshape, {2}, {})].name = "loss";
    s.op(OpCode::neg, {s.scores}, {2, 21, 21});
    ASSERT_TRUE(check(s.program));
    const Program chunks = with_runs_in_chunks(s.program, kOneHead);
    expect_the_same(s.program, chunks, random_state(s.program, Data::bell, 3), {});
}

TEST(Chunks, ProgramsThatNobodyWouldWriteGiveTheSameBits) {
    std::size_t changed = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        const testing::AnyProgram any = testing::any_program(seed);
        for (const ChunkLimits limits : {ChunkLimits{1, 64, 100'000}, ChunkLimits{64, 3, 100'000}}) {
            const Program chunks = with_runs_in_chunks(any.program, limits);
            if (chunks == any.program) continue;
            ++changed;
            ASSERT_NO_FATAL_FAILURE(expect_the_same(any.program, chunks, any.state, any.inputs()));
        }
    }
    EXPECT_GT(changed, 4u);  // few have batched products
}

TEST(Chunks, LongContextsTakeTheMemoryOfFewHeads) {
    const std::uint64_t heads = 48, tokens = 1024;
    const Program program = attention(heads, tokens, 64, true);
    PlanOptions device{false, false};
    device.row_bytes = 48 << 10;
    const auto planned = [&](const Program& p) { return plan_memory(p, device).bytes; };
    const std::uint64_t scores = heads * tokens * tokens * 4;
    const RematerialiseLimits again{4 << 20, 1, 128};
    const std::uint64_t all = planned(program), few = planned(with_runs_in_chunks(program)),
                        anew = planned(with_runs_in_chunks(rematerialise(program, again)));
    EXPECT_GT(all, 2 * scores);
    EXPECT_LT(few, scores + scores / 2);  // the weights wait for the backward pass
    EXPECT_LT(anew, scores);
    RecordProperty("all", std::to_string(all >> 20));
    RecordProperty("few", std::to_string(few >> 20));
    RecordProperty("anew", std::to_string(anew >> 20));
}

}  // namespace
}  // namespace retrace::kernels
