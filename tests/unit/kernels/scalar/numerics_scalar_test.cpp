// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(NumericsScalar, EpilogueFlushesSubnormalsAndCanonicalisesNan) {
    EXPECT_EQ(to_bits(finish(from_bits(0x00000001))), 0u);
    EXPECT_EQ(to_bits(finish(from_bits(0x807fffff))), 0x80000000u);
    EXPECT_EQ(to_bits(finish(from_bits(0x00800000))), 0x00800000u);
    EXPECT_EQ(to_bits(finish(from_bits(0xffc12345))), kNanBits);
    EXPECT_EQ(to_bits(finish(from_bits(0x7f800001))), kNanBits);
    EXPECT_EQ(finish(-kInf), -kInf);
    EXPECT_EQ(to_bits(canonical_nan(from_bits(0x00000001))), 1u);
    EXPECT_EQ(to_bits(canonical_nan(from_bits(0xffffffff))), kNanBits);
}

TEST(NumericsScalar, MaximumPrefersNanAndPlusZero) {
    EXPECT_EQ(to_bits(max32(-0.0f, 0.0f)), 0u);
    EXPECT_EQ(to_bits(max32(0.0f, -0.0f)), 0u);
    EXPECT_EQ(to_bits(max32(-0.0f, -0.0f)), kSignBit);
    EXPECT_EQ(to_bits(max32(1.0f, from_bits(0xffc00001))), kNanBits);
    EXPECT_EQ(to_bits(max32(kNan, -kInf)), kNanBits);
    EXPECT_EQ(max32(-kInf, -1.0f), -1.0f);
}

TEST(NumericsScalar, ArgmaxKeepsTheFirstGreatest) {
    EXPECT_FALSE(argmax_replaces(2.0f, 2.0f));
    EXPECT_TRUE(argmax_replaces(3.0f, 2.0f));
    EXPECT_TRUE(argmax_replaces(kNan, kInf));
    EXPECT_FALSE(argmax_replaces(kNan, kNan));
    EXPECT_FALSE(argmax_replaces(kInf, kNan));
    EXPECT_TRUE(argmax_replaces(0.0f, -0.0f));
    EXPECT_FALSE(argmax_replaces(-0.0f, 0.0f));
}

TEST(NumericsScalar, ConversionRoundsToEvenAndSaturates) {
    EXPECT_EQ(to_int32(0.5f), 0);
    EXPECT_EQ(to_int32(1.5f), 2);
    EXPECT_EQ(to_int32(-2.5f), -2);
    EXPECT_EQ(to_int32(-0.75f), -1);
    EXPECT_EQ(to_int32(8388609.0f), 8388609);
    EXPECT_EQ(to_int32(3e9f), std::numeric_limits<std::int32_t>::max());
    EXPECT_EQ(to_int32(-kInf), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(to_int32(-2147483648.0f), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(to_int32(kNan), 0);
}

TEST(NumericsScalar, RoundEvenKeepsTheSignOfZero) {
    EXPECT_EQ(to_bits(round_even(-0.25f)), kSignBit);
    EXPECT_EQ(round_even(4194303.5f), 4194304.0f);
    EXPECT_EQ(round_even(-kInf), -kInf);
}

TEST(NumericsScalar, PowersOfTwo) {
    EXPECT_EQ(power_of_two(0), 1.0f);
    EXPECT_EQ(power_of_two(-126), 0x1p-126f);
    EXPECT_EQ(power_of_two(127), 0x1p127f);
}

}  // namespace
}  // namespace retrace::kernels
