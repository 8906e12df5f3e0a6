// SPDX-License-Identifier: MIT
// The elementary functions of the contract (contract 2), defined by exactly these operations of binary32. Each returns
// its value before the epilogue, within 1 ulp of the exact one (except fn_powi, which is defined by its
// multiplications); an op stores finish(fn_…(x)). Special values: kernels/SPEC.md 2. Coefficients are minimax fits,
// given by their bits.
//
// Sums that need more than 24 bits are carried as an unevaluated pair hi + lo (Dekker 1971; Knuth TAOCP 2, 4.2.2).
#pragma once

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

struct Pair {
    float hi, lo;
};

/// a + b exactly; |a| >= |b| or a == 0.
RETRACE_FN Pair fast_two_sum(float a, float b) {
    const float hi = a + b;
    return Pair{hi, (a - hi) + b};
}

/// a · b exactly, unless it underflows.
RETRACE_FN Pair two_product(float a, float b) {
    const float hi = a * b;
    return Pair{hi, fma32(a, b, -hi)};
}

/// Product of two pairs, relative error about 2^-46.
RETRACE_FN Pair multiply(Pair a, Pair b) {
    const Pair p = two_product(a.hi, b.hi);
    return Pair{p.hi, fma32(a.lo, b.hi, fma32(a.hi, b.lo, p.lo))};
}

RETRACE_FN float magnitude32(float x) { return from_bits(to_bits(x) & 0x7fffffffu); }

/// The magnitude of `x` with the sign of `sign`.
RETRACE_FN float with_sign(float x, float sign) {
    return from_bits((to_bits(x) & 0x7fffffffu) | (to_bits(sign) & kSignBit));
}

inline constexpr float kLn2 = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;
inline constexpr float kLog2e = 0x1.715476p+0f;

/// x · 2^n for -252 <= n <= 254, in two steps: the first is exact, the second may round to a subnormal or to Inf.
RETRACE_FN float scale32(float x, std::int32_t n) {
    const std::int32_t half = n >> 1;
    return x * power_of_two(half) * power_of_two(n - half);
}

/// e^(r.hi + r.lo) as hi + lo, |r| <= 0.3467; the pair is not normalised (lo is not yet small relative to hi).
RETRACE_FN Pair exp_reduced(Pair r) {
    float q = from_bits(0x3ab6a8abu);
    q = fma32(q, r.hi, from_bits(0x3c091f1cu));
    q = fma32(q, r.hi, from_bits(0x3d2aaa72u));
    q = fma32(q, r.hi, from_bits(0x3e2aaa45u));
    q = fma32(q, r.hi, from_bits(0x3f000000u));
    const float tail = fma32(q, r.hi * r.hi, fma32(r.hi, r.lo, r.lo));
    const Pair sum = fast_two_sum(1.0f, r.hi);
    return Pair{sum.hi, sum.lo + tail};
}

struct ScaledPair {
    Pair value;
    std::int32_t exponent;
};

/// e^x = (value.hi + value.lo) · 2^exponent for |x| <= 105 (larger x are clamped; a NaN counts as 0).
RETRACE_FN ScaledPair exp_scaled(float x) {
    x = x < 105.0f ? x : is_nan(x) ? 0.0f : 105.0f;
    x = x > -105.0f ? x : -105.0f;
    const float shifted = fma32(x, kLog2e, 12582912.0f);  // 1.5 · 2^23: the sum's last bits are the integer
    const float n = shifted - 12582912.0f;
    const Pair r{fma32(n, -kLn2, x), n * -kLn2Low};
    return ScaledPair{exp_reduced(r), static_cast<std::int32_t>(to_bits(shifted)) - 0x4b400000};
}

/// e^x as a pair, |x| <= 80.
RETRACE_FN Pair exp_pair(float x) {
    const ScaledPair e = exp_scaled(x);
    const float scale = power_of_two(e.exponent);
    const Pair value = fast_two_sum(e.value.hi, e.value.lo);
    return Pair{value.hi * scale, value.lo * scale};
}

RETRACE_FN float fn_exp(float x) {
    const ScaledPair e = exp_scaled(x);
    return is_nan(x) ? from_bits(kNanBits) : scale32(e.value.hi + e.value.lo, e.exponent);
}

/// Natural logarithm: x = m · 2^e with m in [2/3, 4/3), log(m) = f - f²/2 + f³·P(f), f = m - 1.
RETRACE_FN float fn_log(float x) {
    const bool small = x < 0x1p-126f;
    const std::uint32_t bits = to_bits(small ? x * 8388608.0f : x);
    const std::uint32_t shift = (bits - 0x3f2aaaabu) & 0xff800000u;
    const float e = static_cast<float>(static_cast<std::int32_t>(shift) >> 23) - (small ? 23.0f : 0.0f);
    const float f = from_bits(bits - shift) - 1.0f;
    float p = from_bits(0x3df833abu);
    p = fma32(p, f, from_bits(0xbe03afccu));
    p = fma32(p, f, from_bits(0x3ddb9a27u));
    p = fma32(p, f, from_bits(0xbdf9b21eu));
    p = fma32(p, f, from_bits(0x3e12825eu));
    p = fma32(p, f, from_bits(0xbe2acd3cu));
    p = fma32(p, f, from_bits(0x3e4ccb6du));
    p = fma32(p, f, from_bits(0xbe7fff83u));
    p = fma32(p, f, from_bits(0x3eaaaaacu));
    p = fma32(p, f, -0.5f);
    // e · 0x3f317200 is exact, that constant has 15 bits.
    const Pair sum = fast_two_sum(e * from_bits(0x3f317200u), f);
    const float low = fma32(e, from_bits(0x35bfbe8eu), sum.lo);
    const float result = sum.hi + fma32(p, f * f, low);
    if (x == 0.0f) return from_bits(kInfinityBits | kSignBit);
    if (!(x > 0.0f)) return from_bits(kNanBits);
    return to_bits(x) == kInfinityBits ? x : result;
}

/// |x| < 0.6: x + x³·P(x²); otherwise 1 - 2 / (e^2|x| + 1) with the sign of x.
RETRACE_FN float fn_tanh(float x) {
    const float a = magnitude32(x);
    const float s = x * x;
    float p = from_bits(0x3b112f1du);
    p = fma32(p, s, from_bits(0xbc072871u));
    p = fma32(p, s, from_bits(0x3cb1fc9bu));
    p = fma32(p, s, from_bits(0xbd5cfbb3u));
    p = fma32(p, s, from_bits(0x3e088846u));
    p = fma32(p, s, from_bits(0xbeaaaaaau));
    const float near = fma32(s * x, p, x);

    const Pair e = exp_pair(2.0f * (a < 10.0f ? a : 10.0f));
    const Pair d = fast_two_sum(e.hi, 1.0f);
    const float d_low = e.lo + d.lo;
    const float q = divide32(2.0f, d.hi);
    const float q_low = fma32(-q, d_low, fma32(-q, d.hi, 2.0f)) * (0.5f * q);
    const Pair one = fast_two_sum(1.0f, -q);
    const float far = one.hi + (one.lo - q_low);
    if (is_nan(x)) return from_bits(kNanBits);
    return with_sign(a < 0.6f ? near : far, x);
}

/// 1 / (1 + e^-x) for x >= 0, e^x / (1 + e^x) for x < 0, and e^x below -25.
RETRACE_FN float fn_sigmoid(float x) {
    const float a = magnitude32(x);
    const Pair e = exp_pair(a < 25.0f ? -a : -25.0f);
    const Pair d = fast_two_sum(1.0f, e.hi);
    const float d_low = d.lo + e.lo;
    const float top = x < 0.0f ? e.hi : 1.0f, top_low = x < 0.0f ? e.lo : 0.0f;
    const float q = divide32(top, d.hi);
    const float rest = fma32(-q, d_low, fma32(-q, d.hi, top) + top_low);
    const float result = q + divide32(rest, d.hi);
    if (is_nan(x)) return from_bits(kNanBits);
    return x < -25.0f ? fn_exp(x) : result;
}

/// |x| < 0.9277: x + x·P(x²); otherwise 1 - e^-G(|x|) with the sign of x, where G(t) = -log(erfc(t)).
RETRACE_FN float fn_erf(float x) {
    const float a = magnitude32(x);
    const float s = x * x;
    float p = from_bits(0x38ae2ad0u);
    p = fma32(p, s, from_bits(0xba550372u));
    p = fma32(p, s, from_bits(0x3baa5f58u));
    p = fma32(p, s, from_bits(0xbcdc0691u));
    p = fma32(p, s, from_bits(0x3de716f7u));
    p = fma32(p, s, from_bits(0xbec093a1u));
    p = fma32(p, s, from_bits(0x3e0375d4u));
    const float near = fma32(x, p, x);

    const float t = a < 3.95f ? a : 3.95f;
    float g = from_bits(0x37b291deu);
    g = fma32(g, t, from_bits(0xb9e4e651u));
    g = fma32(g, t, from_bits(0x3b89007au));
    g = fma32(g, t, from_bits(0xbccdfbdbu));
    g = fma32(g, t, from_bits(0x3dddd58eu));
    g = fma32(g, t, from_bits(0x3f2220dfu));
    g = fma32(g, t, from_bits(0x3f909476u));
    g = fma32(g, t, from_bits(0xb93a80e2u));
    const Pair e = exp_pair(-g);
    const Pair one = fast_two_sum(1.0f, -e.hi);
    const float far = with_sign(one.hi + (one.lo - e.lo), x);
    if (is_nan(x)) return from_bits(kNanBits);
    return a < 0.9277f ? near : far;
}

RETRACE_FN float fn_sqrt(float x) { return sqrt32(x); }

RETRACE_FN float fn_reciprocal(float x) { return divide32(1.0f, x); }

/// 1 / sqrt(x): the rounded quotient, corrected by one Newton step with the exact residual.
RETRACE_FN float fn_rsqrt(float x) {
    const float y = divide32(1.0f, sqrt32(x));
    const Pair root = two_product(x, y);
    const float residual = fma32(-root.lo, y, fma32(-root.hi, y, 1.0f));
    const float result = fma32(0.5f * y, residual, y);
    return x > 0.0f && to_bits(x) != kInfinityBits ? result : y;
}

/// sin(2π r) and cos(2π r) for |r| <= 1/8.
RETRACE_FN float sin_eighth(float r) {
    const float s = r * r;
    float p = from_bits(0x42232d8bu);
    p = fma32(p, s, from_bits(0xc2995a2cu));
    p = fma32(p, s, from_bits(0x42a335c1u));
    p = fma32(p, s, from_bits(0xc2255de7u));
    p = fma32(p, s, from_bits(0xb43bbd2eu));  // 2π - fl(2π)
    return fma32(r, from_bits(0x40c90fdbu), r * p);
}

RETRACE_FN float cos_eighth(float r) {
    const Pair s = two_product(r, r);
    float p = from_bits(0x426b0f14u);
    p = fma32(p, s.hi, from_bits(0xc2aadb42u));
    p = fma32(p, s.hi, from_bits(0x4281e0dbu));
    const Pair square = multiply(s, Pair{from_bits(0xc19de9e6u), 0.0f});
    const Pair sum = fast_two_sum(1.0f, square.hi);
    return sum.hi + (sum.lo + fma32(p, s.hi * s.hi, square.lo));
}

/// sin(2π (x + quarters/4)). Inf and NaN give NaN.
RETRACE_FN float sin_quarters(float x, std::int32_t quarters) {
    const float turn = x - round_even(x);  // exact, in [-1/2, 1/2]; NaN for Inf
    if (is_nan(turn)) return from_bits(kNanBits);
    const float k = round_even(4.0f * turn);
    const float r = fma32(k, -0.25f, turn);
    const std::int32_t quadrant = (static_cast<std::int32_t>(k) + quarters) & 3;
    const float value = (quadrant & 1) ? cos_eighth(r) : sin_eighth(r);
    return (quadrant & 2) ? -value : value;
}

/// sin(2π x), x in turns. A zero has the sign of x.
RETRACE_FN float fn_sin_turns(float x) {
    const float value = sin_quarters(x, 0);
    return value == 0.0f ? with_sign(value, x) : value;
}

/// cos(2π x), x in turns. A zero is +0.
RETRACE_FN float fn_cos_turns(float x) {
    const float value = sin_quarters(x, 1);
    return value == 0.0f ? 0.0f : value;
}

/// log2(x) as a pair, relative error about 2^-40, for finite x > 0: 2·atanh((m-1)/(m+1)) / ln 2 + e.
RETRACE_FN Pair log2_pair(float x) {
    const bool small = x < 0x1p-126f;
    const std::uint32_t bits = to_bits(small ? x * 8388608.0f : x);
    const std::uint32_t shift = (bits - 0x3f3504f3u) & 0xff800000u;  // m in [sqrt(1/2), sqrt(2))
    const float e = static_cast<float>(static_cast<std::int32_t>(shift) >> 23) - (small ? 23.0f : 0.0f);
    const float m = from_bits(bits - shift);
    const float top = m - 1.0f;
    const Pair bottom = m < 1.0f ? fast_two_sum(1.0f, m) : fast_two_sum(m, 1.0f);
    Pair s;
    s.hi = divide32(top, bottom.hi);
    s.lo = divide32(fma32(-s.hi, bottom.lo, fma32(-s.hi, bottom.hi, top)), bottom.hi);
    const Pair z = multiply(s, s);
    float p = from_bits(0x3defd282u);
    p = fma32(p, z.hi, from_bits(0x3e12293au));
    p = fma32(p, z.hi, from_bits(0x3e4ccd00u));
    Pair w = fast_two_sum(from_bits(0x3eaaaaabu), p * z.hi);
    w.lo += from_bits(0xb22aaaabu);  // 1/3 - fl(1/3)
    const Pair r = multiply(z, w);
    Pair one = fast_two_sum(1.0f, r.hi);
    one.lo += r.lo;
    const Pair l = multiply(multiply(s, one), Pair{from_bits(0x4038aa3bu), from_bits(0x33257060u)});  // 2 / ln 2
    const Pair sum = fast_two_sum(e, l.hi);
    return fast_two_sum(sum.hi, sum.lo + l.lo);
}

/// x^y for finite x > 0 and finite y: 2^(y · log2 x).
RETRACE_FN float pow_positive(float x, float y) {
    const Pair log = log2_pair(x);
    const float hi = y * log.hi;
    if (hi > 200.0f) return from_bits(kInfinityBits);
    if (hi < -200.0f) return 0.0f;
    const float lo = fma32(y, log.lo, fma32(y, log.hi, -hi));
    const float n = round_even(hi);
    const Pair f = fast_two_sum(hi - n, lo);
    const Pair r = multiply(f, Pair{kLn2, kLn2Low});
    const Pair e = exp_reduced(r);
    return scale32(e.hi + e.lo, static_cast<std::int32_t>(n));
}

/// x^y with the special values of IEEE 754-2019 (9.2.1).
RETRACE_FN float fn_pow(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (is_nan(x) || is_nan(y)) return from_bits(kNanBits);
    const float a = magnitude32(x), b = magnitude32(y);
    const float infinity = from_bits(kInfinityBits);
    const bool grows = y > 0.0f;
    if (b == infinity) return a == 1.0f ? 1.0f : (a > 1.0f) == grows ? infinity : 0.0f;
    const bool integer = round_even(y) == y;
    const bool odd = b < 16777216.0f && integer && (static_cast<std::int32_t>(b) & 1) != 0;
    const float sign = odd ? x : 1.0f;
    if (a == 0.0f) return with_sign(grows ? 0.0f : infinity, sign);
    if (a == infinity) return with_sign(grows ? infinity : 0.0f, sign);
    if (x < 0.0f && !integer) return from_bits(kNanBits);
    return with_sign(pow_positive(a, y), sign);
}

/// x^n by square and multiply from the most significant bit of |n|, each product rounded once; for n < 0 the reciprocal
/// of that.
RETRACE_FN float fn_powi(float x, std::int32_t n) {
    const std::uint32_t magnitude = n < 0 ? 0u - static_cast<std::uint32_t>(n) : static_cast<std::uint32_t>(n);
    if (magnitude == 0) return 1.0f;
    std::uint32_t bit = 0x80000000u;
    while ((magnitude & bit) == 0) bit >>= 1;
    float power = x;
    for (bit >>= 1; bit != 0; bit >>= 1) {
        power = power * power;
        if (magnitude & bit) power = power * x;
    }
    return n < 0 ? divide32(1.0f, power) : power;
}

}  // namespace retrace::kernels
