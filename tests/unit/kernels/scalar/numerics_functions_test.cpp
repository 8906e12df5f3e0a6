// SPDX-License-Identifier: MIT
// Frozen bits and special values of the contract functions, and the accuracy of pow. Functions of one argument are
// tested over all inputs in function_sweep_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/scalar/functions.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/unit/kernels/exhaustive.hpp"

namespace retrace::kernels {
namespace {

struct Function {
    const char* name;
    float (*value)(float);
    const char* digest;  ///< SHA-256 of the epilogued results for the inputs i · 4099, i < 2^20 (fp32, little
                         ///< endian).
};

void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

const Function kFunctions[] = {
    {"exp", [](float x) { return fn_exp(x); }, "973aee5726291e77f494ab923d0471375ef07a46ccce2b320542514395647ea6"},
    {"log", [](float x) { return fn_log(x); }, "0d78c3427980c9b0e367b56a8cacb0a913bfbc2f6cc5537fed60aa96c5b97bf1"},
    {"tanh", [](float x) { return fn_tanh(x); }, "4f0b95b61e912844a8cd96e4ad560aea3b76b359ad62f9711102ad79e11e241c"},
    {"sigmoid", [](float x) { return fn_sigmoid(x); },
     "2d8f1768fdd9d3177131fc49477c1296f41b7069b28e1895370fe9240efed2ea"},
    {"erf", [](float x) { return fn_erf(x); }, "f121a89230412028fab6f4cdb0169be1c4d6964d31dc6140157bb986e2b553c1"},
    {"sqrt", [](float x) { return fn_sqrt(x); }, "8b30feb7667bc0f4d6c01d6f8dc8a4b1ff70113fc26e6dc29dca12b023852823"},
    {"rsqrt", [](float x) { return fn_rsqrt(x); }, "bb2ef2c00f73afef9f91d38d8f4b0814486ec2b5bee3ccdc7bae36b6e081d352"},
    {"reciprocal", [](float x) { return fn_reciprocal(x); },
     "14565509ad55b9a91ecc1549d63448d91e8b83de861414e2e1f93830e20f8509"},
    {"sin_turns", [](float x) { return fn_sin_turns(x); },
     "2c2e5819884c2c61411e26d6a9e9c4159b7dd1fc73f5185224b1ccee7987e88e"},
    {"cos_turns", [](float x) { return fn_cos_turns(x); },
     "8919179c100028bd2f58728f483b038f5642f91a35ac164630b6da26882594e4"},
};

/// Distance in units of the last place of the exact value's binade (2^-149 below the normal numbers).
double error_in_ulps(float got, double exact) {
    if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0.0 : HUGE_VAL;
    if (std::isinf(static_cast<float>(exact)) && std::isinf(got)) return got * exact > 0 ? 0.0 : HUGE_VAL;
    // Overflow counts as the next value after the greatest finite one.
    const double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
    const double target = std::isinf(exact) ? std::copysign(0x1p128, exact) : exact;
    int exponent = 0;
    std::frexp(target, &exponent);
    return std::abs(value - target) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

class NumericsFunctions : public ::testing::TestWithParam<Function> {};

TEST_P(NumericsFunctions, BitsAreFrozen) {
    const Function& function = GetParam();
    merkle::Sha256 hash;
    for (std::uint32_t i = 0; i < 1u << 20; ++i) {
        hash.update_u32(to_bits(finish(function.value(from_bits(i * 4099u)))));
    }
    EXPECT_EQ(to_hex(view(hash.finish())), function.digest) << function.name;
}

INSTANTIATE_TEST_SUITE_P(All, NumericsFunctions, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(NumericsFunctionValues, SpecialValues) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    struct Case {
        float got;
        std::uint32_t want;
    };
    const Case cases[] = {
        {fn_exp(0.0f), 0x3f800000},
        {fn_exp(-0.0f), 0x3f800000},
        {fn_exp(inf), 0x7f800000},
        {fn_exp(-inf), 0},
        {fn_exp(nan), kNanBits},
        {fn_exp(89.0f), 0x7f800000},
        {fn_exp(-104.0f), 0},
        {fn_log(0.0f), 0xff800000},
        {fn_log(-0.0f), 0xff800000},
        {fn_log(1.0f), 0},
        {fn_log(-1.0f), kNanBits},
        {fn_log(inf), 0x7f800000},
        {fn_log(-inf), kNanBits},
        {fn_log(nan), kNanBits},
        {fn_tanh(-0.0f), kSignBit},
        {fn_tanh(inf), 0x3f800000},
        {fn_tanh(-inf), 0xbf800000},
        {fn_tanh(nan), kNanBits},
        {fn_sigmoid(0.0f), 0x3f000000},
        {fn_sigmoid(-0.0f), 0x3f000000},
        {fn_sigmoid(inf), 0x3f800000},
        {fn_sigmoid(-inf), 0},
        {fn_sigmoid(nan), kNanBits},
        {fn_erf(-0.0f), kSignBit},
        {fn_erf(inf), 0x3f800000},
        {fn_erf(-inf), 0xbf800000},
        {fn_erf(nan), kNanBits},
        {fn_rsqrt(0.0f), 0x7f800000},
        {fn_rsqrt(-0.0f), 0xff800000},
        {fn_rsqrt(inf), 0},
        {fn_rsqrt(4.0f), 0x3f000000},
        {finish(fn_rsqrt(-1.0f)), kNanBits},
        {finish(fn_sqrt(-1.0f)), kNanBits},
        {fn_sqrt(-0.0f), kSignBit},
        {fn_sin_turns(-0.0f), kSignBit},
        {fn_sin_turns(0.5f), 0},
        {fn_sin_turns(-3.0f), kSignBit},
        {fn_sin_turns(0.25f), 0x3f800000},
        {fn_sin_turns(inf), kNanBits},
        {fn_sin_turns(nan), kNanBits},
        {fn_cos_turns(0.0f), 0x3f800000},
        {fn_cos_turns(0.25f), 0},
        {fn_cos_turns(-0.5f), 0xbf800000},
        {fn_cos_turns(3e38f), 0x3f800000},
        {fn_cos_turns(-inf), kNanBits},
    };
    for (std::size_t i = 0; i < std::size(cases); ++i) EXPECT_EQ(to_bits(cases[i].got), cases[i].want) << "case " << i;
}

TEST(NumericsFunctionValues, PowerHasTheSpecialValuesOfIeee) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float values[] = {0.0f, -0.0f, 0.5f,  -0.5f, 1.0f, -1.0f, 2.0f,       -2.0f,
                            3.0f, -3.0f, 1e30f, inf,   -inf, nan,   16777217.0f};
    for (const float x : values) {
        for (const float y : values) {
            const float want = finish(static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y))));
            EXPECT_EQ(to_bits(finish(fn_pow(x, y))), to_bits(want)) << x << " ^ " << y;
        }
    }
}

TEST(NumericsFunctionValues, PowerStaysWithinOneUlp) {
    std::uint64_t state = 1;
    const auto next = [&state] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state >> 32);
    };
    const int tries = exhaustive() ? 200'000'000 : 1'000'000;
    for (int i = 0; i < tries; ++i) {
        float x = from_bits(next() & 0x7fffffffu), y = from_bits(next());
        if (i % 3 == 1) {  // results over the whole range
            y = (static_cast<float>(next() % 200001) - 100000.0f) / 1000.0f;
            x = std::exp2((static_cast<float>(next()) * 0x1p-32f - 0.5f) * 200.0f / std::max(1.0f, std::abs(y)));
        } else if (i % 3 == 2) {  // bases next to 1 with large exponents
            x = 1.0f + static_cast<float>(static_cast<std::int32_t>(next())) * 0x1p-40f;
            y = static_cast<float>(static_cast<std::int32_t>(next())) * 0x1p-13f;
        }
        // Long double, because x^y carries the relative error of y·log(x) times its size.
        const double exact = static_cast<double>(std::pow(static_cast<long double>(x), static_cast<long double>(y)));
        ASSERT_LE(error_in_ulps(fn_pow(x, y), exact), 1.0) << std::hexfloat << x << " ^ " << y;
    }
}

TEST(NumericsFunctionValues, IntegerPowerSquaresFromTheTop) {
    const float x = 1.1f;
    const float square = x * x, cube = square * x, sixth = cube * cube;
    EXPECT_EQ(fn_powi(x, 13), sixth * sixth * x);
    EXPECT_EQ(fn_powi(x, -3), 1.0f / cube);
    EXPECT_EQ(fn_powi(std::numeric_limits<float>::quiet_NaN(), 0), 1.0f);
    EXPECT_EQ(fn_powi(-1.0f, std::numeric_limits<std::int32_t>::min()), 1.0f);
    EXPECT_EQ(to_bits(fn_powi(-0.0f, -1)), 0xff800000u);
}

}  // namespace
}  // namespace retrace::kernels
