// SPDX-License-Identifier: MIT
// Compositions of primitives: reductions of any length, argmax, one-hot rows.
#include "kernels/builder/compose.hpp"

#include <gmock/gmock.h>

#include "kernels/exec/executor.hpp"
#include "kernels/reduce/reduce.hpp"
#include "tests/unit/kernels/gradient_check.hpp"

namespace retrace::kernels {
namespace {

/// The value of a graph of one input.
Tensor value_of(const Tensor& x, Value (*compose)(Graph&, Value)) {
    Graph g;
    const Value in = g.state("x", DType::f32, x.dims);
    const Value out = compose(g, in);
    g.set_next(g.state("out", g.shape(out).dtype, g.dims(out)), out);
    const Program program = *g.build();
    ThreadPool pool(1);
    State state{0, {x, zeros(g.shape(out).dtype, g.dims(out))}};
    Executor(program, pool).step(state, {});
    return state.tensors[1];
}

const std::uint64_t kLengths[] = {1, 255, 256, 257, 700, 65536, 70001};

TEST(Compose, SumsAndMaximaOfRowsHaveAllTheirLevels) {
    for (const std::uint64_t cols : kLengths) {
        const Tensor x = testing::noise({3, cols}, 1);
        Tensor sums = zeros(DType::f32, {3, 1}), maxima = sums;
        reduce_rows(Reduction::sum, x.f32(), 3, cols, sums.f32());
        reduce_rows(Reduction::max, x.f32(), 3, cols, maxima.f32());
        EXPECT_EQ(value_of(x, sum_rows), sums) << cols;
        EXPECT_EQ(value_of(x, max_rows), maxima) << cols;
    }
}

TEST(Compose, SumsOfColumnsHaveAllTheirLevels) {
    for (const std::uint64_t rows : kLengths) {
        const Tensor x = testing::noise({rows, 3}, 2);
        Tensor sums = zeros(DType::f32, {1, 3});
        reduce_cols(Reduction::sum, x.f32(), rows, 3, sums.f32());
        EXPECT_EQ(value_of(x, sum_columns), sums) << rows;
    }
}

TEST(Compose, ArgmaxTakesTheFirstGreatestOfAnyLengthAndANanBeforeAll) {
    for (const std::uint64_t cols : kLengths) {
        Tensor x = testing::noise({3, cols}, 3);
        x.f32()[cols - 1] = 2.0f;                                 // row 0: the last one
        x.f32()[cols + cols / 2] = x.f32()[2 * cols - 1] = 2.0f;  // row 1: the first of two equal ones
        x.f32()[2 * cols] = 5.0f;                                 // row 2: a NaN
        x.f32()[3 * cols - 1] = from_bits(kNanBits);
        const Tensor found = value_of(x, argmax_rows);
        EXPECT_EQ(found.dims, (Dims{3, 1}));
        EXPECT_EQ(found.i32()[0], static_cast<std::int32_t>(cols - 1));
        EXPECT_EQ(found.i32()[1], static_cast<std::int32_t>(cols / 2));
        EXPECT_EQ(found.i32()[2], static_cast<std::int32_t>(cols - 1));
    }
}

TEST(Compose, BroadcastingKeepsEveryBit) {
    Tensor x = zeros(DType::f32, {4, 1});
    const std::uint32_t bits[] = {0x80000000, 0x00000000, 0xff800000, 0xbf800001};
    for (int i = 0; i < 4; ++i) store_u32(x.data.data() + 4 * i, bits[i]);
    const Tensor wide = value_of(x, [](Graph& g, Value v) { return broadcast(g, v, {4, 3}); });
    for (std::uint64_t i = 0; i < 12; ++i) EXPECT_EQ(wide.bits(i), bits[i / 3]);
}

TEST(Compose, AProductWithAShortInnerExtentIsF32) {
    Graph g;
    const Value a = g.state("a", DType::f32, {2, 63}), b = g.state("b", DType::f32, {63, 2});
    const Value short_one = matmul(g, a, b, Precision::i8x2), long_one = matmul(g, a, a, Precision::i8x2, true);
    g.set_next(g.state("c", DType::f32, {2, 2}), short_one);
    g.set_next(g.state("d", DType::f32, {63, 63}), long_one);
    const Value wide = matmul(g, g.state("e", DType::f32, {2, 64}), g.state("f", DType::f32, {64, 2}), Precision::i8x2);
    g.set_next(g.state("h", DType::f32, {2, 2}), wide);
    const Program program = *g.build();
    std::vector<std::uint64_t> precisions;
    for (const OpRecord& op : program.ops) precisions.push_back(op.attributes[0]);
    EXPECT_THAT(precisions, ::testing::ElementsAre(1, 1, 3));
}

}  // namespace
}  // namespace retrace::kernels
