// SPDX-License-Identifier: MIT
// Every op of the table on the emulated device: the kernels of kernels/cuda give the bits of the element rules.
#include <gmock/gmock.h>

#include <random>
#include <set>
#include <tuple>

#include "kernels/cuda/executor.hpp"
#include "kernels/cuda/tile_order.hpp"
#include "kernels/ops/op.hpp"
#include "tests/cuda/device/one_op.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::cuda {
namespace {

using testing::OpCase;

struct Variant {
    unsigned capability, shared_limit;
    bool warpgroups;
    emulation::Order order;
    std::uint64_t blocks_across = 0x7fffffff;
};

void expect_equal_bits(const OpCase& one, const Variant& variant) {
    emulation::settings = {variant.capability, variant.order, variant.blocks_across};
    emulation::device = {};
    emulation::device.shared_limit = variant.shared_limit;
    emulation::device.warpgroups = variant.warpgroups;
    const Program program = parity::program_of(one.facts);
    Inputs inputs{5, {}};
    for (const Tensor& input : one.inputs) inputs.datasets.push_back(&input);
    ThreadPool pool(1);
    Executor reference(program, pool, Backend::reference);
    auto device = DeviceExecutor::create(program);
    ASSERT_TRUE(device) << device.error().message;
    for (const std::uint64_t step : {0ull, 77ull}) {
        const State state{step, {}};
        ASSERT_TRUE((*device)->load(state, inputs));
        const auto found = (*device)->outputs({0});
        ASSERT_TRUE(found) << found.error().message;
        ASSERT_EQ(found->front(), reference.output(state, inputs, 0))
            << one.name << ", output " << shape_text(one.facts.output.dims);
    }
}

constexpr unsigned kSmallShared = 64 * 1024, kMiddleShared = 99 * 1024, kLargeShared = 163 * 1024;

class EveryOp : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(EveryOp, HasTheBitsOfItsElementRule) {
    for (const OpCase& one : testing::random_cases(GetParam(), 4)) {
        expect_equal_bits(one, {80, kLargeShared, false, emulation::Order::ascending});
        if (HasFatalFailure()) return;
    }
}

TEST_P(EveryOp, HasThemOnTheOldestDeviceAndInAnotherOrderOfThreads) {
    for (const OpCase& one : testing::random_cases(GetParam() + 100, 2)) {
        expect_equal_bits(one, {75, kSmallShared, false, emulation::Order::descending});
        if (HasFatalFailure()) return;
    }
}

/// Simulates more blocks than a grid can have across, with some beyond the last.
TEST_P(EveryOp, HasThemWhereBlocksLieInRows) {
    for (const OpCase& one : testing::random_cases(GetParam() + 200, 2)) {
        expect_equal_bits(one, {80, kLargeShared, false, emulation::Order::descending, 3});
        if (HasFatalFailure()) return;
    }
}

/// Further cases of products: several tiles, several blocks of K and a short one, all storages.
TEST(Products, ByWarpgroupsHaveTheBitsOfTheDefinition) {
    int sliced = 0;
    for (const OpCase& one : testing::random_cases(20260103, 24)) {
        if (one.facts.op.code != OpCode::matmul || one.facts.op.attributes[0] == 1) continue;
        const auto order = ++sliced % 2 == 0 ? emulation::Order::ascending : emulation::Order::descending;
        expect_equal_bits(one, {90, 227 * 1024, true, order, sliced % 3 == 0 ? 2u : 0x7fffffffu});
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(sliced, 12);
}

/// Two rows of tiles, which a cluster takes, and three, which it does not; more chunks of K than the ring has stages.
TEST(Products, ByClustersHaveTheBitsOfTheDefinition) {
    for (const std::uint64_t rows : {200, 257}) {
        for (const std::uint64_t precision : {3, 4}) {
            OpCase one;
            one.name = "product by clusters, precision " + std::to_string(precision);
            one.facts.op = {OpCode::matmul, {0, 1}, {precision, 0, 1}, {}};
            one.facts.inputs = {{DType::f32, {1, rows, 420}}, {DType::f32, {1, 67, 420}}};
            one.facts.output = {DType::f32, {1, rows, 67}};
            std::mt19937_64 random(rows + precision);
            one.inputs = testing::random_inputs(one.facts, testing::Data{}, random);
            const auto order = precision % 2 == 0 ? emulation::Order::ascending : emulation::Order::descending;
            expect_equal_bits(one, {90, 227 * 1024, true, order});
            if (HasFatalFailure()) return;
        }
    }
}

/// The shape for the shared memory of 8.6, 8.9 and 12.0.
TEST(Products, HaveTheBitsOfTheDefinitionWithLittleSharedMemory) {
    int sliced = 0;
    for (const OpCase& one : testing::random_cases(20260104, 8)) {
        if (one.facts.op.code != OpCode::matmul || one.facts.op.attributes[0] == 1) continue;
        ++sliced;
        expect_equal_bits(one, {86, kMiddleShared, false, emulation::Order::descending});
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(sliced, 3);
}

/// Bytes of the result beside words of the operands: such a step does not go by quads.
TEST(Elements, ManyComparisonsHaveTheBitsOfTheDefinition) {
    OpFacts facts;
    facts.op = {OpCode::less, {0, 1}, {}, {}};
    facts.inputs = {{DType::f32, {2048, 2048}}, {DType::f32, {2048, 2048}}};
    facts.output = {DType::u8, {2048, 2048}};
    std::mt19937_64 random(5);
    expect_equal_bits({"less", facts, testing::random_inputs(facts, testing::Data::bell, random)},
                      {80, kLargeShared, false, emulation::Order::ascending});
}

template <class Index>
void expect_every_tile_once(Index band_rows) {
    for (const Index tiles_m : {1, 2, 11, 12, 13, 24, 37}) {
        for (const Index tiles_n : {1, 2, 7}) {
            std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> seen;
            for (Index i = 0; i < 2 * tiles_m * tiles_n; ++i) {
                const TileIndex tile = tile_of(i, tiles_m, tiles_n, band_rows);
                EXPECT_LT(tile.m, tiles_m);
                EXPECT_LT(tile.n, tiles_n);
                EXPECT_TRUE(seen.insert({tile.matrix, tile.m, tile.n}).second);
            }
        }
    }
}

TEST(Products, EveryTileIsComputedOnce) {
    expect_every_tile_once<std::uint64_t>(kTileBand);
    for (const std::uint32_t band_rows : {12, 6}) expect_every_tile_once<std::uint32_t>(band_rows);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryOp, ::testing::Values(20260101, 20260102));

}  // namespace
}  // namespace retrace::kernels::cuda
