// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels {
namespace {

TEST(NumericsReduce, LevelsAndSizes) {
    EXPECT_EQ(reduce_levels(0), 1u);
    EXPECT_EQ(reduce_levels(256), 1u);
    EXPECT_EQ(reduce_levels(257), 2u);
    EXPECT_EQ(reduce_levels(65537), 3u);
    EXPECT_EQ(reduce_level_size(0), 1u);
    EXPECT_EQ(reduce_level_size(513), 3u);
}

TEST(NumericsReduce, EmptyRowsSumToZeroAndHaveNoMaximum) {
    std::vector<float> out(2, 9.0f);
    reduce_rows(Reduction::sum, nullptr, 2, 0, out.data());
    EXPECT_EQ(to_bits(out[1]), 0u);
    reduce_rows(Reduction::max, nullptr, 2, 0, out.data());
    EXPECT_EQ(out[0], -std::numeric_limits<float>::infinity());
}

TEST(NumericsReduce, ASumOfNegativeZerosIsPlusZero) {
    const std::vector<float> x(256, -0.0f);
    EXPECT_EQ(to_bits(reduce_level_sum(x.data(), 256, 1)), 0u);
}

TEST(NumericsReduce, ColumnsEqualRowsOfTheTranspose) {
    constexpr std::uint64_t kRows = 700, kCols = 5;
    std::vector<float> x(kRows * kCols), turned(kRows * kCols), by_cols(kCols), by_rows(kCols);
    for (std::uint64_t r = 0; r < kRows; ++r) {
        for (std::uint64_t c = 0; c < kCols; ++c) {
            x[r * kCols + c] = static_cast<float>((r * 7919 + c * 104729) % 1000) * 0.1f - 50.0f;
            turned[c * kRows + r] = x[r * kCols + c];
        }
    }
    for (const Reduction kind : {Reduction::sum, Reduction::max}) {
        reduce_cols(kind, x.data(), kRows, kCols, by_cols.data());
        reduce_rows(kind, turned.data(), kCols, kRows, by_rows.data());
        for (std::uint64_t c = 0; c < kCols; ++c) EXPECT_EQ(to_bits(by_cols[c]), to_bits(by_rows[c]));
    }
}

TEST(NumericsReduce, SubnormalsAreFlushedAfterEveryLevel) {
    // 512 subnormals whose total is normal: each level's result of 256 is still subnormal and becomes zero.
    const std::vector<float> x(512, from_bits(0x00004000u));
    float sum = 1.0f;
    reduce_rows(Reduction::sum, x.data(), 1, 512, &sum);
    EXPECT_EQ(to_bits(sum), 0u);
}

TEST(NumericsReduce, MaximumOfNanAndZeros) {
    const float nan = from_bits(0xffc00001u);
    const std::vector<float> zeros = {-0.0f, 0.0f, -0.0f}, odd = {1.0f, nan, 2.0f};
    EXPECT_EQ(to_bits(reduce_level_max(zeros.data(), 3, 1)), 0u);
    EXPECT_EQ(to_bits(reduce_level_max(odd.data(), 3, 1)), kNanBits);
}

}  // namespace
}  // namespace retrace::kernels
