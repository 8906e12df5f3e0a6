// SPDX-License-Identifier: MIT
// Norms, softmax and losses as one kernel on the emulated device: the bits are those of the ops one by one.
#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/exec/bands.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::cuda {
namespace {

using testing::Data;

State state_of(const Program& program, Data data, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    OpFacts facts;
    for (std::uint32_t i = 0; i < program.states; ++i)
        facts.inputs.push_back({program.tensors[i].dtype, program.tensors[i].dims});
    return {0, testing::random_inputs(facts, data, random)};
}

class DeviceFusion : public ::testing::TestWithParam<emulation::Order> {
protected:
    DeviceFusion() {
        const bool down = GetParam() == emulation::Order::descending;
        emulation::settings = {80, GetParam(), down ? 5u : 0x7fffffffu};  // blocks in rows
        emulation::device = {};
    }
    ~DeviceFusion() override { emulation::settings = {}, emulation::device = {}; }
};

TEST_P(DeviceFusion, every_layer_gives_the_bits_of_its_composition) {
    ThreadPool pool(1);
    std::uint64_t seed = 1;
    for (const auto& [name, program] : testing::fused_patterns()) {
        for (const Data data : {Data::bell, Data::heavy, Data::special}) {
            SCOPED_TRACE(name + ", data " + std::to_string(static_cast<int>(data)));
            State expected = state_of(program, data, ++seed), found = expected;
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

INSTANTIATE_TEST_SUITE_P(Orders, DeviceFusion,
                         ::testing::Values(emulation::Order::ascending, emulation::Order::descending),
                         [](const auto& info) {
                             return info.param == emulation::Order::ascending ? "up" : "down";
                         });

MemoryPlan plan_of(const Program& program, std::uint64_t row_bytes) {
    return plan_memory(with_constants_first(program), {false, false, Fusion::bands, row_bytes});
}

TEST(RowBands, norms_and_losses_are_one_kernel_and_their_values_never_in_memory) {
    for (const Program& program :
         {testing::layer_norm_program(64, 96), testing::softmax_cross_entropy_program(64, 40)}) {
        const MemoryPlan rows = plan_of(program, 48 << 10);
        ASSERT_EQ(rows.bands.size(), 1u);
        EXPECT_EQ(rows.bands[0].granules, 64u);
        EXPECT_EQ(rows.bands[0].chunk, 1u);
        EXPECT_LT(2 * rows.bytes, plan_memory(program, {false, false, Fusion::elements}).bytes);
    }
}

TEST(RowBands, have_no_products_and_keep_to_the_memory_of_a_block) {
    const Program attention = testing::attention_program(6, 33, 65, true);
    const MemoryPlan plan = plan_of(attention, 48 << 10);
    EXPECT_FALSE(plan.bands.empty());
    const Program ordered = with_constants_first(attention);
    for (const Unit& unit : plan.units) {
        for (std::uint32_t op = unit.first; unit.band != kNoBand && op < unit.end(); ++op)
            EXPECT_NE(ordered.ops[op].code, OpCode::matmul);
    }
    const Program norm = testing::layer_norm_program(16, 4096);
    EXPECT_TRUE(plan_of(norm, 8 << 10).bands.empty());
    for (const Band& band : plan_of(norm, 256 << 10).bands) EXPECT_LE(band.bytes, 256u << 10);
}

/// A sum and a maximum of each row as they come, and the row beside them.
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

TEST(RowBands, reductions_inside_end_with_their_own_epilogue) {
    emulation::settings = {}, emulation::device = {};
    ThreadPool pool(1);
    const Program program = bare_reductions();
    ASSERT_EQ(plan_of(program, 48 << 10).bands.size(), 1u);
    State expected = state_of(program, Data::bell, 1);
    for (std::uint64_t i = 0; i < 120; ++i)  // subnormals, then NaNs of another payload
        expected.tensors[0].f32()[i] =
            from_bits(i < 60 ? 0x00012345u + static_cast<std::uint32_t>(i) : 0x7fc12345u);
    State found = expected;
    Executor(program, pool, Backend::reference).step(expected, {});
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device);
    ASSERT_TRUE((*device)->load(found, {}));
    ASSERT_TRUE((*device)->step());
    ASSERT_TRUE((*device)->store(found));
    EXPECT_EQ(found, expected);
}

TEST(RowBands, rows_too_long_for_a_block_give_the_same_bits) {
    emulation::settings = {75, emulation::Order::ascending}, emulation::device = {};
    ThreadPool pool(1);
    const Program program = testing::layer_norm_program(5, 9000);
    State expected = state_of(program, Data::bell, 3), found = expected;
    Executor(program, pool, Backend::reference).step(expected, {});
    const auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device);
    ASSERT_TRUE((*device)->load(found, {}));
    ASSERT_TRUE((*device)->step());
    ASSERT_TRUE((*device)->store(found));
    EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace retrace::kernels::cuda
