// SPDX-License-Identifier: MIT
// Norms, softmax and losses as one kernel on the emulated device: the bits equal those of the separate ops.
#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/training.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/layout.hpp"
#include "kernels/exec/chunks.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/plan_check.hpp"
#include "kernels/exec/rematerialise.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::cuda {
namespace {

using testing::Data;
using testing::random_state;

class DeviceFusion : public ::testing::TestWithParam<emulation::Order> {
protected:
    DeviceFusion() {
        const bool down = GetParam() == emulation::Order::descending;
        emulation::settings = {80, GetParam(), down ? 5u : 0x7fffffffu};  // blocks in rows
        emulation::device = {};
        emulation::device.says_memory = !down;  // programs rewritten to be fast, and to take little
    }
    ~DeviceFusion() override { emulation::settings = {}, emulation::device = {}; }
};

TEST_P(DeviceFusion, EveryLayerGivesTheBitsOfItsComposition) {
    ThreadPool pool(1);
    std::uint64_t seed = 1;
    for (const auto& [name, program] : testing::fused_patterns()) {
        for (const Data data : {Data::bell, Data::heavy, Data::special}) {
            SCOPED_TRACE(name + ", data " + std::to_string(static_cast<int>(data)));
            State expected = random_state(program, data, ++seed), found = expected;
            const auto device = DeviceExecutor::create(program);
            ASSERT_TRUE(device) << device.error().message;
            ASSERT_TRUE((*device)->load(found, {}));
            const auto metrics = Executor(program, pool, Backend::reference).step(expected, {});
            const auto own = (*device)->step();
            ASSERT_TRUE(own) << own.error().message;
            for (std::size_t i = 0; i < metrics.size(); ++i)
                EXPECT_EQ(to_bits((*own)[i].value), to_bits(metrics[i].value)) << metrics[i].name;
            ASSERT_TRUE((*device)->store(found));
            ASSERT_EQ(found, expected);
        }
    }
}

TEST_P(DeviceFusion, RunsWithoutElementsDoNothing) {
    Graph g;
    const Value x = g.state("x", DType::f32, {2, 4});
    g.set_next(x, mul(g, x, x));
    Program program = *g.build();
    for (TensorRecord& tensor : program.tensors) tensor.dims = {0, 4};
    ASSERT_TRUE(check(program));
    State state = random_state(program, Data::bell, 1), found = state;
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->load(state, {}));
    ASSERT_TRUE((*device)->step());
    ASSERT_TRUE((*device)->store(found));
    EXPECT_EQ(found.tensors, state.tensors);
}

MemoryPlan plan_of(const Program& program, std::uint64_t row_bytes) {
    return plan_memory(with_constants_first(program), {false, false, Fusion::runs, row_bytes});
}

TEST(RowRuns, NormsAndLossesAreOneKernelAndTheirValuesNeverInMemory) {
    for (const Program& program :
         {testing::layer_norm_program(64, 96), testing::softmax_cross_entropy_program(64, 40)}) {
        const MemoryPlan rows = plan_of(program, 48 << 10);
        ASSERT_EQ(rows.fused_runs.size(), 1u);
        EXPECT_EQ(rows.fused_runs[0].parts, 64u);
        EXPECT_EQ(rows.fused_runs[0].chunk, 1u);
        EXPECT_LT(2 * rows.bytes, plan_memory(program, {false, false, Fusion::elements}).bytes);
    }
}

TEST(RowRuns, HaveNoProductsAndKeepToTheMemoryOfABlock) {
    const Program attention = testing::attention_program(6, 33, 65, true);
    const MemoryPlan plan = plan_of(attention, 48 << 10);
    EXPECT_FALSE(plan.fused_runs.empty());
    const Program ordered = with_constants_first(attention);
    for (const PlanUnit& unit : plan.units) {
        for (std::uint32_t op = unit.first; unit.fused_run != kNoFusedRun && op < unit.end(); ++op)
            EXPECT_NE(ordered.ops[op].code, OpCode::matmul);
    }
    const Program norm = testing::layer_norm_program(16, 4096);
    EXPECT_TRUE(plan_of(norm, 8 << 10).fused_runs.empty());
    for (const FusedRun& fused_run : plan_of(norm, 256 << 10).fused_runs) EXPECT_LE(fused_run.bytes, 256u << 10);
}

/// The mask is one for all heads: tokens² elements that begin again with every head.
TEST(RowRuns, TheCausalMaskIsPartOfSoftmax) {
    const Program program = with_constants_first(testing::attention_program(6, 64, 8, true));
    const MemoryPlan plan = plan_of(testing::attention_program(6, 64, 8, true), 48 << 10);
    ASSERT_FALSE(plan.fused_runs.empty());
    EXPECT_EQ(plan.fused_runs[0].parts, 6u * 64);
    for (const PlanUnit& unit : plan.units) {
        for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
            if (program.ops[op].code != OpCode::select) continue;
            EXPECT_NE(unit.fused_run, kNoFusedRun);
        }
    }
    EXPECT_TRUE(check_row_runs(program, plan, 48 << 10));
    EXPECT_FALSE(check_plan(program, plan)) << "for executors that cut by rows of the op's own output";
}

/// Norms of 64 rows, then ops on another tensor whose elements 64 divides as well.
TEST(RowRuns, EndBeforeOpsThatReadNothingOfThem) {
    Graph g;
    const Value x = g.state("x", DType::f32, {64, 96}), other = g.state("other", DType::f32, {32, 32});
    g.set_next(x, sub(g, x, sum_rows(g, x)));
    g.set_next(other, mul(g, other, other));
    const Program program = *g.build();
    const MemoryPlan plan = plan_of(program, 48 << 10);
    ASSERT_EQ(plan.fused_runs.size(), 1u);
    for (const PlanUnit& unit : plan.units) {
        for (std::uint32_t op = unit.first; unit.fused_run != kNoFusedRun && op < unit.end(); ++op)
            EXPECT_NE(program.ops[op].code, OpCode::mul);
    }
}

/// A sum and a maximum of each row without further ops, and the row itself.
Program bare_reductions() {
    Graph g;
    const Value x = g.state("x", DType::f32, {6, 20});
    const Value sums = g.state("sums", DType::f32, {6, 1}), tops = g.state("tops", DType::f32, {6, 1});
    const Value rest = g.state("rest", DType::f32, {6, 20});
    const Value sum = sum_rows(g, x), top = max_rows(g, x);
    g.set_next(sums, sum);
    g.set_next(tops, top);
    g.set_next(rest, fma(g, x, sum, top));
    return *g.build();
}

TEST(RowRuns, ReductionsInsideEndWithTheirOwnEpilogue) {
    emulation::settings = {}, emulation::device = {};
    ThreadPool pool(1);
    const Program program = bare_reductions();
    ASSERT_EQ(plan_of(program, 48 << 10).fused_runs.size(), 1u);
    State expected = random_state(program, Data::bell, 1);
    for (std::uint64_t i = 0; i < 120; ++i)  // subnormals, then NaNs of another payload
        expected.tensors[0].f32()[i] = from_bits(i < 60 ? 0x00012345u + static_cast<std::uint32_t>(i) : 0x7fc12345u);
    State found = expected;
    Executor(program, pool, Backend::reference).step(expected, {});
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device);
    ASSERT_TRUE((*device)->load(found, {}));
    ASSERT_TRUE((*device)->step());
    ASSERT_TRUE((*device)->store(found));
    EXPECT_EQ(found, expected);
}

/// Expects one step of `program` on the device to equal the reference's.
void expect_the_bits_of_the_reference(const Program& program, Data data, std::uint64_t seed) {
    ThreadPool pool(1);
    State expected = random_state(program, data, seed), found = expected;
    Executor(program, pool, Backend::reference).step(expected, {});
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->load(found, {}));
    ASSERT_TRUE((*device)->step());
    ASSERT_TRUE((*device)->store(found));
    EXPECT_EQ(found, expected);
}

TEST_P(DeviceFusion, RowsTooLongForSharedMemoryGiveTheSameBits) {
    const std::pair<std::string, Program> programs[] = {
        {"layer norm", testing::layer_norm_program(5, 13'001)},
        {"softmax and cross entropy", testing::softmax_cross_entropy_program(4, 20'003)}};
    for (const auto& [name, program] : programs) {
        SCOPED_TRACE(name);
        const MemoryPlan plan = plan_of(program, kLongRowBytes);
        ASSERT_EQ(plan.fused_runs.size(), 1u);
        EXPECT_GT(plan.fused_runs[0].bytes, kSharedRowBytes);
        EXPECT_TRUE(plan_of(program, kSharedRowBytes).fused_runs.empty());
        for (const Data data : {Data::bell, Data::special}) expect_the_bits_of_the_reference(program, data, 3);
    }
}

/// A slab has 16 parts for 40 rows.
TEST_P(DeviceFusion, TheBlocksOfASlabTakeRowsInTurn) {
    constexpr std::uint64_t kRows = 40, kCols = 21, kOwn = 4 << 20;
    ASSERT_EQ(slab_blocks(kRows, kOwn), 16u);
    std::vector<float> x(kRows * kCols), y(kRows * kCols);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    RowSide in, own, out;
    in.data = reinterpret_cast<std::uint8_t*>(x.data()), in.stride = kCols * 4;
    own.at = 64;
    out.data = reinterpret_cast<std::uint8_t*>(y.data()), out.stride = kCols * 4;
    RowStep negate{OpCode::neg, DType::f32, DType::f32, 1, kCols, {in}, own};
    RowStep add{OpCode::add, DType::f32, DType::f32, 2, kCols, {own, in}, out};
    RowStep twice{OpCode::add, DType::f32, DType::f32, 2, kCols, {out, own}, out};
    const RowStep steps[] = {negate, add, twice};
    auto slab = Memory::take(16 * kOwn);
    ASSERT_TRUE(slab);
    run_fused_rows(nullptr, steps, 3, kOwn, kRows, slab->data());
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], -x[i]) << i;
}

TEST(RowRuns, ASlabIsBoundedAndNeverWithoutABlock) {
    EXPECT_EQ(slab_blocks(1, 64 << 10), 1u);
    EXPECT_EQ(slab_blocks(1 << 20, 50 << 10), 512u);
    EXPECT_EQ(slab_blocks(1 << 20, 1 << 20), 64u);
    EXPECT_EQ(slab_blocks(5, 1ull << 31), 1u);
    const Program wide = testing::softmax_cross_entropy_program(4096, 50'257);
    const MemoryPlan plan = plan_of(wide, kLongRowBytes);
    ASSERT_EQ(plan.fused_runs.size(), 1u);
    EXPECT_LE(slab_blocks(plan.fused_runs[0].parts, plan.fused_runs[0].bytes) * plan.fused_runs[0].bytes, 64u << 20);
    const std::uint64_t apart = plan_of(wide, kSharedRowBytes).bytes;
    EXPECT_LT(plan.bytes + (64 << 20), apart / 2) << "the slab and the rest against every value in memory";
}

/// The device's program for attention whose scores of all heads exceed a chunk, here a small one.
TEST_P(DeviceFusion, AttentionInChunksGivesTheSameBits) {
    const Program program = with_constants_first(testing::attention_program(5, 19, 12, true));
    const Program chunks = with_runs_in_chunks(program, {2 * 19 * 19 * 4, 64, 100'000});
    ASSERT_GT(chunks.ops.size(), 2 * program.ops.size());
    for (const Data data : {Data::bell, Data::special}) expect_the_bits_of_the_reference(chunks, data, 5);
}

TEST(DeviceMemory, WhatADeviceRunsAtItsOwnLimitsGivesTheSameBits) {
    const Program program = testing::attention_program(10, 1024, 8, true), seen = for_device(program);
    EXPECT_GT(seen.ops.size(), program.ops.size() + 20) << "in chunks";
    ThreadPool pool(2);
    State expected = random_state(program, Data::bell, 8), found = expected;
    Executor(program, pool).step(expected, {});
    Executor(seen, pool).step(found, {});
    EXPECT_EQ(found, expected);
}

/// A batched product is added to the state that it replaces: in chunks it would have to be joined, and would no longer
/// be in place.
TEST(DeviceMemory, NothingIsRewrittenThatThenTakesMore) {
    Graph g;
    const Value weights = g.state("weights", DType::f32, {16, 1024, 1024});
    const Value a = g.state("a", DType::f32, {16, 1024, 64}), b = g.state("b", DType::f32, {16, 64, 1024});
    g.set_next(weights, add(g, weights, matmul(g, a, b, Precision::i8x2)));
    const Program program = *g.build();
    EXPECT_LT(plan_of(program, kLongRowBytes).bytes, plan_of(with_runs_in_chunks(program), kLongRowBytes).bytes);
    EXPECT_EQ(plan_of(for_device(program), kLongRowBytes).bytes, plan_of(program, kLongRowBytes).bytes);
}

/// The attention weights of a layer are not kept in memory for the backward pass, and the scores of all heads never
/// exist at the same time.
TEST(DeviceMemory, LongContextsTakeLittle) {
    ModelSpec model;
    model.kind = "gpt";
    model.input = {1024};
    model.classes = 64;
    model.width = 256;
    model.heads = 4;
    model.layers = 4;
    TrainingSpec spec;
    spec.samples = 8;
    spec.batch = 4;
    const Program program = build_training(model, spec, 64, 8)->train;
    const auto taken = [](const Program& p) { return lay_out(p, facts_of_ops(p), plan_for_device(p)).bytes; };
    const std::uint64_t scores = 4ull * 4 * 1024 * 1024 * 4;
    const std::uint64_t before = taken(program), now = taken(for_device(program));
    const std::uint64_t rewritten = taken(with_constants_first(rematerialise(program, {4 << 20, 32, 128})));
    EXPECT_GT(before, 4 * scores);
    EXPECT_LT(rewritten + 3 * scores, before);
    EXPECT_LT(now, rewritten);
    EXPECT_EQ(now, device_bytes(program));
    const std::uint64_t fastest = taken(with_constants_first(program));
    EXPECT_EQ(taken(for_device(program, fastest)), fastest) << "where there is room";
    EXPECT_EQ(taken(for_device(program, fastest - 1)), rewritten) << "where there is less";
    RecordProperty("before_mib", std::to_string(before >> 20));
    RecordProperty("rewritten_mib", std::to_string(rewritten >> 20));
    RecordProperty("now_mib", std::to_string(now >> 20));
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceFusion,
                         ::testing::Values(emulation::Order::ascending, emulation::Order::descending),
                         [](const auto& info) { return info.param == emulation::Order::ascending ? "up" : "down"; });

}  // namespace
}  // namespace retrace::kernels::cuda
