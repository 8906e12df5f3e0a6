// SPDX-License-Identifier: MIT
// scatter_add_rows on the emulated device: the bits equal the definition, and the work is linear in tokens and rows.
#include <gmock/gmock.h>

#include <random>

#include "kernels/cuda/executor.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/device/one_op.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::kernels::cuda {
namespace {

struct Extents {
    std::uint64_t tokens, rows, width;
};

/// Returns the row of token `i`.
using Index = std::function<std::int64_t(std::uint64_t i)>;

OpFacts facts_of(const Extents& e) {
    OpFacts facts;
    facts.op = {OpCode::scatter_add_rows, {0, 1}, {e.rows}, {}};
    facts.inputs = {{DType::f32, {e.tokens, e.width}}, {DType::i32, {e.tokens}}};
    facts.output = {DType::f32, {e.rows, e.width}};
    return facts;
}

/// Values whose sum depends on the order, including NaNs of any payload, infinities, subnormals and both zeros.
Tensor values_of(const Extents& e, std::mt19937_64& random) {
    static constexpr std::uint32_t kSpecial[] = {0x80000000u, 0x00000000u, 0x00000001u, 0x80012345u,
                                                 0x7f800000u, 0xffc12345u, 0x7f7fffffu, 0xff7fffffu};
    Tensor values = zeros(DType::f32, {e.tokens, e.width});
    for (std::uint64_t i = 0; i < e.tokens * e.width; ++i) {
        const auto word = static_cast<std::uint32_t>(random());
        const std::uint32_t bits =
            random() % 200 == 0 ? kSpecial[random() % 8] : (word & 0x807fffffu) | (100 + word % 50) << 23;
        store_u32(values.data.data() + 4 * i, bits);
    }
    return values;
}

/// Compares the device's result with that of `against`; returns how often threads were scheduled.
std::uint64_t expect_equal(const Extents& e, const Index& row, Backend against = Backend::reference) {
    std::mt19937_64 random(e.tokens + 1000 * e.rows + e.width);
    const Tensor values = values_of(e, random);
    Tensor index = zeros(DType::i32, {e.tokens});
    for (std::uint64_t i = 0; i < e.tokens; ++i)
        store_u32(index.data.data() + 4 * i, static_cast<std::uint32_t>(row(i)));
    const Program program = parity::program_of(facts_of(e));
    const Inputs inputs{0, {&values, &index}};
    ThreadPool pool(1);
    const auto device = DeviceExecutor::create(program);
    EXPECT_TRUE(device) << device.error().message;
    EXPECT_TRUE((*device)->load({}, inputs));
    const std::uint64_t before = emulation::device.turns;
    const auto found = (*device)->outputs({0});
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->front() == Executor(program, pool, against).output({}, inputs, 0))
        << e.tokens << " tokens, " << e.rows << " rows, width " << e.width;
    return emulation::device.turns - before;
}

class ScatterRows : public ::testing::Test {
protected:
    ScatterRows() { emulation::settings = {}, emulation::device = {}; }
    ~ScatterRows() override { emulation::settings = {}, emulation::device = {}; }
    std::mt19937_64 random{11};
};

TEST_F(ScatterRows, RandomRowsHaveTheBitsOfTheDefinition) {
    for (const Extents& e : {Extents{1, 1, 1},
                             {255, 3, 2},
                             {256, 255, 1},
                             {257, 256, 3},
                             {700, 257, 1},
                             {3000, 40, 5},
                             {900, 65535, 1},
                             {900, 65536, 1},
                             {40, 7, 700}}) {
        expect_equal(e, [&](std::uint64_t) { return static_cast<std::int64_t>(random() % e.rows); });
    }
}

TEST_F(ScatterRows, AllTokensOfOneRowAndRowsWithoutAny) {
    for (const std::int64_t row : {0, 4, 8}) expect_equal({2100, 9, 3}, [row](std::uint64_t) { return row; });
    expect_equal({0, 9, 3}, [](std::uint64_t) { return 0; });
    expect_equal({0, 0, 3}, [](std::uint64_t) { return 0; });
    expect_equal({600, 0, 3}, [](std::uint64_t) { return 0; });
    expect_equal({600, 5, 0}, [](std::uint64_t) { return 2; });
}

TEST_F(ScatterRows, LinksOfARowThatAreFarApart) {
    expect_equal({2000, 300, 2}, [](std::uint64_t i) { return i % 511 < 2 ? 299 : static_cast<std::int64_t>(i % 7); });
    expect_equal({1500, 1500, 1}, [](std::uint64_t i) { return static_cast<std::int64_t>(1499 - i); });
}

TEST_F(ScatterRows, IndicesOutOfRangeMatchNoRow) {
    const std::int64_t outside[] = {-1, INT32_MIN, INT32_MAX, 255, 256, 1 << 24, -256};
    expect_equal({1000, 255, 2}, [&](std::uint64_t i) {
        return i % 3 == 0 ? static_cast<std::int64_t>(random() % 255) : outside[i % 7];
    });
    expect_equal({300, 6, 2}, [&](std::uint64_t) { return -1; });
}

TEST_F(ScatterRows, BlocksThatSortSeveralTimesInAnotherOrderOfThreads) {
    emulation::settings = {75, emulation::Order::descending, 100};
    // More than 1024 blocks of 256 tokens, so each thread block takes two.
    expect_equal(
        {280'000, 5, 1}, [&](std::uint64_t) { return static_cast<std::int64_t>(random() % 6); }, Backend::cpu);
}

TEST_F(ScatterRows, WorkGrowsWithTokensAndRowsAndNotWithTheirProduct) {
    for (const std::uint64_t n : {5000, 20'000}) {
        const auto any = [&](std::uint64_t) { return static_cast<std::int64_t>(random() % n); };
        EXPECT_LT(expect_equal({n, n, 1}, any, Backend::cpu), 20 * 2 * n + 20'000);
    }
}

}  // namespace
}  // namespace retrace::kernels::cuda
