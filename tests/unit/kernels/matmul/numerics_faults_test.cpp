// SPDX-License-Identifier: MIT
// Seeded faults: mistakes that a port is likely to make. Each must change at least one bit on the data with which the
// back ends are compared, or the comparison proves little.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/slices.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scalar/functions.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {
namespace {

class Random {
public:
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state_ >> 32);
    }
    float unit() { return (static_cast<float>(next() >> 8) - 8388608.0f) * 0x1p-23f; }

private:
    std::uint64_t state_ = 42;
};

/// Vectors of 256 values: plain, with ties of the digits, tiny enough that sums are subnormal, and with special values.
std::vector<std::vector<float>> samples() {
    Random random;
    std::vector<std::vector<float>> out;
    for (int i = 0; i < 64; ++i) {
        std::vector<float> x(256);
        for (float& v : x) {
            v = random.unit();
            if (i % 4 == 1) v = std::ldexp(std::floor(v * 32768.0f) + 0.5f, -15);
            if (i % 4 == 2) v *= 0x1p-72f;
            if (i % 4 == 3 && random.next() % 64 == 0) v *= 100.0f;
        }
        if (i == 3) x[17] = std::numeric_limits<float>::infinity();
        if (i == 7) x[200] = from_bits(0xffc00123u);
        out.push_back(std::move(x));
    }
    return out;
}

using Link = std::function<float(const std::vector<float>& a, const std::vector<float>& b, float before)>;

/// Whether `faulty` differs from the contract's link for some data; `before` is 0.75 and, for small sums, a subnormal.
bool caught(Precision precision, const Link& faulty) {
    const auto data = samples();
    for (std::size_t i = 0; i + 4 < data.size(); ++i) {
        for (const float before : {matmul_start(precision), 0.75f, 0x1p-140f}) {
            const float want = matmul_link(precision, data[i].data(), data[i + 4].data(), 256, before);
            if (to_bits(faulty(data[i], data[i + 4], before)) != to_bits(want)) return true;
        }
    }
    return false;
}

/// The sliced link with options to inject a fault.
struct SlicedFault {
    std::uint32_t slices = 2;
    std::int32_t exponent_min = kExponentMin;
    bool keep_dropped_products = false, scales_first = false, no_fma = false, truncate = false, ignore_nan = false;
    bool flush_carried = false;

    std::int64_t total(const std::vector<float>& a, const std::vector<float>& b, std::int32_t ea,
                       std::int32_t eb) const {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
            const Digits x = digits(a[k], ea), y = digits(b[k], eb);
            for (std::uint32_t t = 0; t < slices; ++t) {
                for (std::uint32_t u = 0; u < slices; ++u) {
                    const int power = static_cast<int>(slices) - 1 - static_cast<int>(t + u);
                    if (power < 0 && !keep_dropped_products) continue;
                    const std::int64_t product = std::int64_t{x.digit[t]} * y.digit[u];
                    sum += power < 0 ? product / 256 : product << (8 * power);
                }
            }
        }
        return sum;
    }

    Digits digits(float x, std::int32_t exponent) const {
        if (!truncate) return slice_digits(slices, x, exponent);
        const float scaled = x * power_of_two(8 * static_cast<std::int32_t>(slices) - 1 - exponent);
        return slice_digits(slices, std::trunc(scaled), 8 * static_cast<std::int32_t>(slices) - 1);
    }

    float operator()(const std::vector<float>& a, const std::vector<float>& b, float before) const {
        const std::uint32_t ma = slice_max(a.data(), 256, 1), mb = slice_max(b.data(), 256, 1);
        float sa = slice_scale(slices, ma), sb = slice_scale(slices, mb);
        if (is_nan(sa) || is_nan(sb)) return ignore_nan ? before : from_bits(kNanBits);
        const std::int32_t ea = std::max(exponent_min, slice_exponent(ma)),
                           eb = std::max(exponent_min, slice_exponent(mb));
        sa = power_of_two(ea - 7 - 4 * (static_cast<std::int32_t>(slices) - 1));
        sb = power_of_two(eb - 7 - 4 * (static_cast<std::int32_t>(slices) - 1));
        const float u = static_cast<float>(total(a, b, ea, eb));
        if (scales_first) return fma32(u, sa * sb, before);
        const float v = u * sa;
        const float c = no_fma ? v * sb + before : fma32(v, sb, before);
        return canonical_nan(flush_carried ? finish(c) : c);
    }
};

TEST(NumericsFaults, SoundCopyIsNotCaught) {
    EXPECT_FALSE(caught(Precision::i8x2, SlicedFault{}));
    SlicedFault three;
    three.slices = 3;
    EXPECT_FALSE(caught(Precision::i8x3, three));
}

TEST(NumericsFaults, FaultsOfSlicedProductsAreCaught) {
    SlicedFault fault;
    fault.keep_dropped_products = true;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "dropped products kept";
    fault = {};
    fault.truncate = true;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "digits truncated";
    fault = {};
    fault.ignore_nan = true;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "NaN passed over";
    fault = {};
    fault.flush_carried = true;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "carried value flushed";
    fault = {};
    fault.exponent_min = -48;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "exponent clamped at -48";
    fault = {};
    fault.slices = 1;
    EXPECT_TRUE(caught(Precision::i8x2, fault)) << "a digit dropped";
}

TEST(NumericsFaults, SubnormalScalesTellTheOrderOfLine13) {
    // The products are exact except for underflow, so only scales whose product underflows reveal the order.
    std::vector<float> a(256, 0x1p-65f), b(256, 0x1.8p-65f);
    for (std::size_t k = 0; k < 256; k += 3) a[k] = 0x1.2345p-66f;
    SlicedFault fault;
    EXPECT_EQ(to_bits(fault(a, b, 0.0f)), to_bits(matmul_link(Precision::i8x2, a.data(), b.data(), 256, 0.0f)));
    fault.scales_first = true;
    EXPECT_NE(to_bits(fault(a, b, 0.0f)), to_bits(matmul_link(Precision::i8x2, a.data(), b.data(), 256, 0.0f)));
}

float chain(const std::vector<float>& a, const std::vector<float>& b, bool fused, bool backwards, int parts) {
    std::vector<float> sums(static_cast<std::size_t>(parts), 0.0f);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::size_t k = backwards ? a.size() - 1 - i : i;
        float& sum = sums[k % sums.size()];
        sum = fused ? fma32(a[k], b[k], sum) : a[k] * b[k] + sum;
    }
    float total = sums[0];
    for (std::size_t p = 1; p < sums.size(); ++p) total += sums[p];
    return total;
}

TEST(NumericsFaults, FaultsOfChainsAreCaught) {
    const auto link = [](bool fused, bool backwards, int parts) -> Link {
        return [=](const auto& a, const auto& b, float before) {
            return canonical_nan(before + chain(a, b, fused, backwards, parts));
        };
    };
    EXPECT_FALSE(caught(Precision::f32, link(true, false, 1)));
    EXPECT_TRUE(caught(Precision::f32, link(false, false, 1))) << "no fma";
    EXPECT_TRUE(caught(Precision::f32, link(true, true, 1))) << "another order";
    EXPECT_TRUE(caught(Precision::f32, link(true, false, 8))) << "eight partial sums";
    EXPECT_TRUE(caught(Precision::f32, [](const auto& a, const auto& b, float before) {
        float sum = before;
        for (std::size_t k = 0; k < a.size(); ++k) sum = fma32(a[k], b[k], sum);
        return canonical_nan(sum);
    })) << "one chain over all blocks";
    EXPECT_TRUE(caught(Precision::f32, [](const auto& a, const auto& b, float before) {
        return finish(before + chain(a, b, true, false, 1));
    })) << "carried value flushed";
    EXPECT_TRUE(caught(Precision::f32, [](const auto& a, const auto& b, float before) {
        return before + chain(a, b, true, false, 1);
    })) << "NaN payload kept";
}

/// Counts the inputs for which `faulty` gives other bits than `rule`.
std::size_t differences(const std::vector<float>& inputs, const std::function<float(float)>& rule,
                        const std::function<float(float)>& faulty) {
    std::size_t out = 0;
    for (const float x : inputs) out += to_bits(canonical_nan(rule(x))) != to_bits(canonical_nan(faulty(x)));
    return out;
}

/// The angles of rotary positions in the published llama, in radians: 4 planes, 8 tokens.
std::vector<float> rotary_angles() {
    std::vector<float> out;
    for (int plane = 0; plane < 4; ++plane) {
        const float speed = fn_pow(10000.0f, static_cast<float>(plane) * -0.25f);
        for (int token = 0; token < 8; ++token) out.push_back(static_cast<float>(token) * speed);
    }
    return out;
}

// Faults of other implementations that showed only after 15 to 100 steps, on inputs that occur in a training.

TEST(NumericsFaults, LibmInRotaryPositionsIsCaught) {
    const std::vector<float> angles = rotary_angles();
    const auto sine = [](float x) { return fn_sin_turns(x * 0.15915494f); };
    const auto cosine = [](float x) { return fn_cos_turns(x * 0.15915494f); };
    EXPECT_EQ(differences(angles, sine, sine), 0u);
    EXPECT_GT(differences(angles, sine, [](float x) { return std::sin(x); }), 0u);
    EXPECT_GT(differences(angles, cosine, [](float x) { return std::cos(x); }), 0u);
}

TEST(NumericsFaults, PowfInBiasCorrectionIsCaught) {
    std::vector<float> steps;
    for (int t = 1; t <= 200; ++t) steps.push_back(static_cast<float>(t));
    for (const float beta : {0.9f, 0.999f}) {
        const auto rule = [beta](float t) { return 1.0f - fn_powi(beta, static_cast<std::int32_t>(t)); };
        EXPECT_EQ(differences(steps, rule, rule), 0u);
        EXPECT_GT(differences(steps, rule, [beta](float t) { return 1.0f - std::pow(beta, t); }), 0u) << beta;
    }
}

TEST(NumericsFaults, ApproximateSquareRootIsCaught) {
    std::vector<float> moments;
    for (const auto& x : samples())
        for (const float v : x) moments.push_back(v * v);
    // As frameworks compute it for speed: from a reciprocal root, which is rounded too.
    const auto by_reciprocal = [](float x) { return x == 0.0f ? x : x * (1.0f / std::sqrt(x)); };
    EXPECT_EQ(differences(moments, fn_sqrt, fn_sqrt), 0u);
    EXPECT_GT(differences(moments, fn_sqrt, by_reciprocal), 0u);
}

/// One device flushes values that the other keeps: subnormal results (which ops flush), or subnormal operands as well.
TEST(NumericsFaults, SubnormalsFlushedOnOneSideAreCaught) {
    std::vector<float> tiny;
    for (const auto& x : samples())
        for (const float v : x) tiny.push_back(v * 0x1p-126f);
    const auto rule = [](float x) { return finish(x * 0.5f); };
    const auto kept = [](float x) { return x * 0.5f; };
    EXPECT_EQ(differences(tiny, rule, rule), 0u);
    EXPECT_GT(differences(tiny, rule, kept), 0u) << "results kept";
    const auto scaled = [](float x) { return finish(x * 0x1p40f); };
    const auto operand_flushed = [](float x) { return finish(finish(x) * 0x1p40f); };
    EXPECT_GT(differences(tiny, scaled, operand_flushed), 0u) << "operands flushed";
    // Carried values may be subnormal, so flushing them is another fault.
    EXPECT_TRUE(caught(Precision::f32, [](const auto& a, const auto& b, float before) {
        return canonical_nan(finish(before) + chain(a, b, true, false, 1));
    })) << "carried operand flushed";
}

TEST(NumericsFaults, FaultsOfSumsAreCaught) {
    int sequential = 0, no_flush = 0, other_tree = 0;
    for (const auto& x : samples()) {
        const std::uint32_t want = to_bits(reduce_level_sum(x.data(), 256, 1));
        float sum = 0, lane[16] = {};
        for (const float v : x) sum += v;
        for (std::size_t k = 0; k < 256; ++k) lane[k % 16] += x[k];
        float left_to_right = 0;
        for (const float v : lane) left_to_right += v;
        sequential += to_bits(finish(sum)) != want;
        other_tree += to_bits(finish(left_to_right)) != want;
    }
    std::vector<float> tiny(256, 0.0f);
    tiny[3] = from_bits(0x00400000u);
    no_flush += to_bits(tiny[3]) != to_bits(reduce_level_sum(tiny.data(), 256, 1));
    EXPECT_GT(sequential, 0);
    EXPECT_GT(other_tree, 0);
    EXPECT_GT(no_flush, 0);
}

}  // namespace
}  // namespace retrace::kernels
