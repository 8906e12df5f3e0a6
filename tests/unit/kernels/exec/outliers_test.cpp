// SPDX-License-Identifier: MIT
#include "kernels/exec/outliers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/builder/compose.hpp"
#include "kernels/program/codec.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kOutlierRows = 6, kTerms = 300, kColumns = 5, kMatrices = 3;

/// Products of a state "x" and a state "w" in the given memory layouts.
Program products(bool transposed_a, bool transposed_b, Precision precision) {
    Graph g;
    const Dims a = transposed_a ? Dims{kMatrices, kTerms, kOutlierRows} : Dims{kMatrices, kOutlierRows, kTerms};
    const Dims b = transposed_b ? Dims{kMatrices, kColumns, kTerms} : Dims{kMatrices, kTerms, kColumns};
    const Value x = g.state("x", DType::f32, a), w = g.state("w", DType::f32, b);
    const Value y = g.state("y", DType::f32, {kMatrices, kOutlierRows, kColumns});
    g.set_next(y, matmul(g, x, w, precision, transposed_a, transposed_b));
    return *g.build();
}

State bell(const Program& program) { return testing::random_state(program, testing::Data::bell, 7); }

/// Position of term k of vector v of matrix m.
std::size_t place(bool side_by_side, std::uint64_t vectors, std::uint64_t m, std::uint64_t v, std::uint64_t k) {
    return m * vectors * kTerms + (side_by_side ? v * kTerms + k : k * vectors + v);
}

class Outliers : public ::testing::Test {
protected:
    std::vector<ProductOutliers> of(const Program& program, const State& state) {
        Executor executor(program, pool);
        const State before = state;
        auto found = product_outliers(executor, program, state, {});
        EXPECT_EQ(state, before);
        return found;
    }
    ThreadPool pool{1};
};

TEST_F(Outliers, OfNormalDataIsAboutThreeAndNothingIsAnOutlier) {
    const Program program = products(false, false, Precision::i8x2);
    const auto found = of(program, bell(program));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].blocks, kMatrices * kOutlierRows * 2);  // 300 terms are two blocks
    EXPECT_EQ(found[1].blocks, kMatrices * kColumns * 2);
    for (const ProductOutliers& product : found) {
        EXPECT_GT(product.median, 1.9f);
        EXPECT_LT(product.worst, 6.0f);
        EXPECT_EQ(product.outliers, 0.0);
    }
    EXPECT_EQ(found[0].input, 0u);
    EXPECT_EQ(found[1].input, 1u);
}

TEST_F(Outliers, AnOutlierIsFoundInTheBlockThatHasItHoweverTheOperandLies) {
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            SCOPED_TRACE(std::to_string(ta) + std::to_string(tb));
            const Program program = products(ta, tb, Precision::i8x3);
            State state = bell(program);
            for (std::uint64_t m = 0; m < kMatrices; ++m)  // one channel of the first factor, in its first block
                for (std::uint64_t v = 0; v < kOutlierRows; ++v)
                    state.tensors[0].f32()[place(!ta, kOutlierRows, m, v, 17)] = 256;
            state.tensors[1].f32()[place(tb, kColumns, 2, 4, 299)] = 50;  // one value, in a block of 44 terms
            const auto found = of(program, state);
            ASSERT_EQ(found.size(), 2u);
            EXPECT_DOUBLE_EQ(found[0].outliers, 0.5);
            EXPECT_GT(found[0].worst, 200.0f);
            EXPECT_DOUBLE_EQ(found[1].outliers, 1.0 / (kMatrices * kColumns * 2));
            EXPECT_GT(found[1].worst, 40.0f);
            const auto summary = summary_of(found);
            ASSERT_TRUE(summary);
            EXPECT_EQ(summary->most.input, 0u);
            EXPECT_EQ(summary->blocks, kMatrices * (kOutlierRows + kColumns) * 2);
            EXPECT_DOUBLE_EQ(summary->outliers, 19.0 / 66);
        }
    }
}

TEST_F(Outliers, BlocksOfNothingAndOfWhatIsNotFiniteAreLeftOut) {
    const Program program = products(false, true, Precision::i8x2);
    State state = bell(program);
    state.tensors[0] = zeros(DType::f32, {kMatrices, kOutlierRows, kTerms});
    std::fill_n(state.tensors[1].f32(), kMatrices * kTerms * kColumns, std::numeric_limits<float>::infinity());
    state.tensors[1].f32()[0] = std::numeric_limits<float>::quiet_NaN();
    const auto found = of(program, state);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].blocks + found[1].blocks, 0u);
    EXPECT_FALSE(summary_of(found));
}

/// Data like the gradient of a pool or of a ReLU.
TEST_F(Outliers, ZerosMakeNoOutlierOfTheRest) {
    const Program program = products(false, true, Precision::i8x2);
    State state = bell(program);
    for (std::size_t i = 0; i < kMatrices * kOutlierRows * kTerms; ++i)
        state.tensors[0].f32()[i] = i % 100 == 0 ? 3.0f : 0.0f;
    const auto found = of(program, state);
    EXPECT_EQ(found[0].worst, 1.0f);
    EXPECT_EQ(found[0].outliers, 0.0);
}

TEST_F(Outliers, ProductsWithThreeSlicesAreNamedOnlyWhereThereAreNoOthers) {
    ProductOutliers two, three;
    two.blocks = three.blocks = 10, two.slices = 2, three.slices = 3;
    two.outliers = 0.1, three.outliers = 0.9;
    EXPECT_EQ(summary_of({three, two})->most.slices, 2u);
    EXPECT_EQ(summary_of({two, three})->most.slices, 2u);
    EXPECT_EQ(summary_of({three})->most.slices, 3u);
    EXPECT_DOUBLE_EQ(summary_of({two, three})->outliers, 0.5);
}

TEST_F(Outliers, ChainsOfFloatsHaveNoDigits) {
    const Program program = products(false, false, Precision::f32);
    EXPECT_TRUE(of(program, bell(program)).empty());
}

TEST_F(Outliers, ALargeOperandIsLookedAtInPlaces) {
    Graph g;
    const Value x = g.state("x", DType::f32, {5000, 64}), w = g.state("w", DType::f32, {64, 3});
    g.set_next(g.state("y", DType::f32, {5000, 3}), matmul(g, x, w, Precision::i8x2, false, false));
    const Program program = *g.build();
    State state = bell(program);
    std::fill_n(state.tensors[0].f32(), 5000 * 64, 1.0f);
    for (std::size_t row = 2500; row < 5000; ++row) state.tensors[0].f32()[row * 64 + 9] = -100;  // as deep as a head
    const auto found = of(program, state);
    EXPECT_EQ(found[0].blocks, kOutlierBlocks);
    EXPECT_EQ(found[0].median, 100.0f);
    EXPECT_EQ(found[0].worst, 100.0f);
    EXPECT_NEAR(found[0].outliers, 0.5, 0.001);
}

}  // namespace
}  // namespace retrace::kernels
