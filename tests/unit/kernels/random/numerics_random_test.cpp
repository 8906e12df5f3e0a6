// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/random/philox.hpp"

namespace retrace::kernels {
namespace {

// kat_vectors of Random123 1.14 (Salmon et al.), philox4x32 with 10 rounds.
TEST(NumericsRandom, PhiloxKnownAnswers) {
    const PhiloxBlock zero = philox({0, 0}, {{0, 0, 0, 0}});
    EXPECT_EQ(zero.word[0], 0x6627e8d5u);
    EXPECT_EQ(zero.word[1], 0xe169c58du);
    EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
    EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
    const std::uint32_t f = 0xffffffffu;
    EXPECT_EQ(philox({f, f}, {{f, f, f, f}}).word[0], 0x408f276du);
    EXPECT_EQ(philox({f, f}, {{f, f, f, f}}).word[3], 0x6d5451fdu);
}

TEST(NumericsRandom, StreamsDifferByNameAndSeed) {
    EXPECT_NE(stream_key(1, "dropout/0"), stream_key(1, "dropout/1"));
    EXPECT_NE(stream_key(1, "order"), stream_key(2, "order"));
}

TEST(NumericsRandom, ElementsTakeTheWordsOfTheirBlock) {
    const PhiloxKey key = stream_key(7, "test");
    const PhiloxBlock block = philox_block(key, 2, 5);
    for (std::uint64_t e = 8; e < 12; ++e) {
        EXPECT_EQ(philox_word(key, e, 5), block.word[e % 4]);
        EXPECT_EQ(philox_uniform(key, e, 5), static_cast<float>(block.word[e % 4] >> 8) / 16777216.0f);
    }
}

TEST(NumericsRandom, NormalHasItsMomentsAndIsFiniteAtTheEnds) {
    const PhiloxKey key = stream_key(3, "init");
    double sum = 0, squares = 0;
    constexpr int kCount = 200000;
    for (int e = 0; e < kCount; ++e) {
        const double x = static_cast<double>(philox_normal(key, static_cast<std::uint64_t>(e), 0));
        sum += x;
        squares += x * x;
    }
    EXPECT_NEAR(sum / kCount, 0.0, 0.01);
    EXPECT_NEAR(squares / kCount, 1.0, 0.01);
    EXPECT_EQ(to_bits(normal_of(0xffffffffu, 0, false)), 0u) << "u1 = 1: t is -0 and becomes +0";
    EXPECT_TRUE(std::isfinite(normal_of(0, 0xffffffffu, true)));
}

TEST(NumericsRandom, OrderIsAPermutation) {
    const PhiloxKey key = stream_key(11, "order");
    for (const std::uint64_t n : {1, 2, 3, 4, 5, 16, 17, 100, 1000}) {
        std::vector<bool> seen(n);
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint64_t at = sample_at(key, n, 4, i);
            ASSERT_LT(at, n);
            EXPECT_FALSE(seen[at]) << "n " << n << ", index " << at;
            seen[at] = true;
        }
    }
    int moved = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) moved += sample_at(key, 1000, 0, i) != sample_at(key, 1000, 1, i);
    EXPECT_GT(moved, 900) << "another epoch, another order";
}

}  // namespace
}  // namespace retrace::kernels
