// SPDX-License-Identifier: MIT
// Fused layers give the same bits as their composition, which the reference computes op by op, for all kinds of data.
#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/op_cases.hpp"
#include "tests/unit/kernels/random_programs.hpp"

namespace retrace::kernels {
namespace {

using testing::Data;
using testing::random_state;

std::vector<std::uint32_t> bits_of(const std::vector<Metric>& metrics) {
    std::vector<std::uint32_t> out;
    for (const Metric& metric : metrics) out.push_back(to_bits(metric.value));
    return out;
}

TEST(Fusion, EveryLayerGivesTheBitsOfItsComposition) {
    ThreadPool one(1), three(3);
    std::uint64_t seed = 1;
    for (const auto& [name, program] : testing::fused_patterns()) {
        for (const Data data : {Data::bell, Data::heavy, Data::special}) {
            SCOPED_TRACE(name + ", data " + std::to_string(static_cast<int>(data)));
            const State before = random_state(program, data, ++seed);
            State expected = before;
            const auto metrics = bits_of(Executor(program, one, Backend::reference).step(expected, {}));
            for (const Fusion fusion : {Fusion::none, Fusion::elements, Fusion::runs}) {
                for (ThreadPool* pool : {&one, &three}) {
                    State found = before;
                    EXPECT_EQ(bits_of(Executor(program, *pool, Backend::cpu, fusion).step(found, {})), metrics);
                    ASSERT_EQ(found, expected)
                        << "fusion " << static_cast<int>(fusion) << ", threads " << pool->threads();
                }
            }
        }
    }
}

TEST(Fusion, OfManyChunksGivesTheBitsOfSingleOps) {
    ThreadPool pool(2);
    const std::vector<Program> programs = {
        testing::layer_norm_program(1021, 96), testing::softmax_cross_entropy_program(997, 131),
        testing::attention_program(67, 24, 64, true), testing::bias_gelu_program(513, 200)};
    for (const Program& program : programs) {
        const State before = random_state(program, Data::bell, 5);
        State found = before, expected = before;
        Executor(program, pool, Backend::cpu, Fusion::none).step(expected, {});
        Executor(program, pool).step(found, {});
        EXPECT_EQ(found, expected);
    }
}

TEST(Fusion, NormsLossesAndAttentionAreOneFusedRunInEachDirection) {
    const auto fused_runs = [](const Program& program) {
        return plan_memory(with_constants_first(program)).fused_runs;
    };
    EXPECT_EQ(fused_runs(testing::layer_norm_program(64, 32)).size(), 1u);  // the passes are adjacent
    EXPECT_EQ(fused_runs(testing::softmax_cross_entropy_program(64, 10)).size(), 1u);
    EXPECT_EQ(fused_runs(testing::attention_program(8, 32, 16, true)).size(), 1u);
    EXPECT_TRUE(fused_runs(testing::adamw_program(64, 32)).empty());  // one elementwise run
}

TEST(Fusion, ScoresOfAttentionAreNeverInMemoryAsAWhole) {
    const Program program = testing::attention_program(64, 64, 64, true);
    const MemoryPlan fused = plan_memory(with_constants_first(program));
    const MemoryPlan apart = plan_memory(program, {false, true, Fusion::elements});
    EXPECT_LT(2 * (fused.bytes + 2 * fused.chunk_bytes), apart.bytes);
}

TEST(Fusion, IsInvisibleInTracesAndOutputs) {
    ThreadPool pool(2);
    const Program program = testing::attention_program(6, 20, 8, true);
    const State state = random_state(program, Data::bell, 3);
    Executor fused(program, pool), reference(program, pool, Backend::reference);
    EXPECT_EQ(fused.trace(state, {}), reference.trace(state, {}));
    for (std::uint32_t op = 0; op < program.ops.size(); ++op)
        ASSERT_EQ(fused.output(state, {}, op), reference.output(state, {}, op)) << "op " << op;
}

TEST(Fusion, AFusedRunNeverOverwritesAStateThatALaterChunkReadsAsAWhole) {
    // s is a row vector for the first op, and its next value follows element by element in the same run of ops.
    Program p;
    {
        using K = TensorKind;
        p.states = 2;
        p.tensors = {{K::state, DType::f32, {8, 4}, 4, "s"},
                     {K::state, DType::f32, {8, 32}, 1, "x"},
                     {K::op_output, DType::f32, {32}, kNoWriter, ""},
                     {K::op_output, DType::f32, {8, 32}, kNoWriter, ""},
                     {K::op_output, DType::f32, {8, 1}, kNoWriter, ""},
                     {K::op_output, DType::f32, {8, 4}, kNoWriter, ""},
                     {K::op_output, DType::f32, {8, 4}, kNoWriter, ""}};
        p.ops = {{static_cast<OpCode>(0x0701), {0}, {}, ""},
                 {static_cast<OpCode>(0x0301), {1, 2}, {}, ""},
                 {static_cast<OpCode>(0x0501), {3}, {}, ""},
                 {static_cast<OpCode>(0x0301), {0, 4}, {}, ""},
                 {static_cast<OpCode>(0x0303), {5, 5}, {}, ""}};
        ASSERT_TRUE(check(p));
    }
    ThreadPool pool(1);
    State found = random_state(p, Data::bell, 9), expected = found;
    Executor(p, pool, Backend::reference).step(expected, {});
    Executor(p, pool).step(found, {});
    EXPECT_EQ(found, expected);
}

/// Each layer of a transformer creates its own mask.
TEST(Fusion, ConstantsThatAreMadeAlikeAreMadeOnce) {
    Graph g;
    const Value x = g.state("x", DType::f32, {6, 4}), kept = g.state("kept", DType::i32, {6, 4});
    const auto steps = [&] { return g.op(OpCode::iota, {}, {0}, {DType::i32, {6, 4}}); };
    Value y = x;
    for (int i = 0; i < 3; ++i) y = select(g, g.op(OpCode::less_equal, {steps(), steps()}), y, g.scalar(0.0f));
    g.set_next(x, y);
    g.set_next(kept, steps());  // the writer of a state is kept
    const Program program = *g.build(), first = with_constants_first(program);
    ASSERT_TRUE(check(first));
    const auto count = [](const Program& p, OpCode code) {
        return std::count_if(p.ops.begin(), p.ops.end(), [&](const OpRecord& op) { return op.code == code; });
    };
    EXPECT_EQ(count(program, OpCode::iota), 7);
    EXPECT_EQ(count(first, OpCode::iota), 2);
    EXPECT_EQ(count(first, OpCode::less_equal), 1);
    ThreadPool pool(1);
    State a = random_state(program, Data::bell, 4), b = a;
    Executor(program, pool, Backend::reference).step(a, {});
    Executor(first, pool, Backend::reference).step(b, {});
    EXPECT_EQ(a, b);
}

TEST(Fusion, ConstantsOfOtherTypesOrExtentsAreNotAlike) {
    Graph g;
    const auto none = [&](DType dtype, Dims dims) { return g.op(OpCode::fill, {}, {0}, {dtype, std::move(dims)}); };
    const std::pair<DType, Dims> kinds[] = {
        {DType::f32, {4, 2}}, {DType::i32, {4, 2}}, {DType::f32, {2, 4}}, {DType::f32, {8}}};
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
        const auto& [dtype, dims] = kinds[i];
        const Value kept = g.state("kept" + std::to_string(i), dtype, dims);
        g.set_next(kept, g.op(OpCode::concat, {none(dtype, dims)}, {0}));
    }
    const Program program = *g.build(), first = with_constants_first(program);
    ASSERT_TRUE(check(first)) << check(first).error().message;
    EXPECT_EQ(first.ops.size(), program.ops.size());
}

TEST(Fusion, ConstantsThatComeFirstTakeLittleMemory) {
    Graph g;
    const Value x = g.state("x", DType::f32, {1024, 1024});
    Value y = x;
    for (int i = 0; i < 40; ++i) {  // each of 4 MiB, one after the other
        y = add(g, y, g.op(OpCode::fill, {}, {to_bits(static_cast<float>(i))}, {DType::f32, {1024, 1024}}));
    }
    g.set_next(x, y);
    const Program program = *g.build(), first = with_constants_first(program);
    EXPECT_LE(plan_memory(first).bytes, plan_memory(program).bytes + (64 << 20));
}

TEST(Fusion, ConstantsComeFirstAndNothingElseMoves) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Program program = testing::random_program(seed);
        const Program first = with_constants_first(program);
        ASSERT_TRUE(check(first));
        EXPECT_EQ(with_constants_first(first), first);
    }
    const Program program = testing::attention_program(8, 32, 16, true);
    const Program first = with_constants_first(program);
    EXPECT_NE(first, program);  // the mask
    ThreadPool pool(1);
    State a = random_state(program, Data::bell, 4), b = a;
    Executor(program, pool, Backend::reference).step(a, {});
    Executor(first, pool, Backend::reference).step(b, {});
    EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace retrace::kernels
