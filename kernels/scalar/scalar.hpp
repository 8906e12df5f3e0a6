// SPDX-License-Identifier: MIT
// The scalar rules of the contract (contract 1): bits, the epilogue, maximum, conversion. For host and CUDA device.
//
// Every function here has internal linkage on purpose: this header is compiled for several instruction sets, and a
// shared inline function could be linked from the AVX-512 copy into code that must run on any machine.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

// Every kernel includes this header, so compiler options that change bits are rejected here. (Contraction cannot be
// detected by the preprocessor; CMake sets -ffp-contract=off.)
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "The numeric contract: no fast-math, and none of its parts that change a value"
#endif
#if FLT_EVAL_METHOD != 0 || FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MAX_EXP != 128
#error "The numeric contract: float is binary32 and every operation is rounded to it"
#endif

#if defined(__CUDACC__)
#define RETRACE_FN static inline __host__ __device__
#else
#define RETRACE_FN static inline
#endif

namespace retrace::kernels {

inline constexpr std::uint32_t kSignBit = 0x80000000u;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;
inline constexpr std::uint32_t kNanBits = 0x7fc00000u;  ///< The one NaN that ops store.

RETRACE_FN std::uint32_t to_bits(float x) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(x);
#else
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

RETRACE_FN float from_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/// a·b + c with one rounding. Without an FMA unit the C library computes it exactly in software.
RETRACE_FN float fma32(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
}

RETRACE_FN float sqrt32(float x) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return std::sqrt(x);
#endif
}

RETRACE_FN float divide32(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(a, b);
#else
    return a / b;
#endif
}

RETRACE_FN bool is_nan(float x) { return (to_bits(x) & 0x7fffffffu) > kInfinityBits; }

/// The form of committed links: NaN becomes 0x7FC00000, all other values stay, subnormals included.
RETRACE_FN float canonical_nan(float x) { return is_nan(x) ? from_bits(kNanBits) : x; }

/// The epilogue of every primitive: NaN becomes 0x7FC00000, a value with exponent field 0 becomes a zero of the same
/// sign.
RETRACE_FN float finish(float x) {
    const std::uint32_t bits = to_bits(x);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude < 0x00800000u) return from_bits(bits & kSignBit);
    if (magnitude > kInfinityBits) return from_bits(kNanBits);
    return x;
}

/// Maximum: NaN wins, +0 > -0.
RETRACE_FN float max32(float a, float b) {
    if (is_nan(a) || is_nan(b)) return from_bits(kNanBits);
    if (a == b) return (to_bits(a) & kSignBit) ? b : a;
    return a > b ? a : b;
}

/// Whether `candidate` replaces `best` in an argmax that runs in ascending order: the first greatest wins, a
/// NaN counts as greatest, and -0 is not greater than +0 but +0 is greater than -0.
RETRACE_FN bool argmax_replaces(float candidate, float best) {
    if (is_nan(best)) return false;
    if (is_nan(candidate)) return true;
    if (candidate == best) return (to_bits(best) & kSignBit) != 0 && (to_bits(candidate) & kSignBit) == 0;
    return candidate > best;
}

/// Nearest integer, ties to even, for every finite x; Inf and NaN stay. Exact, because adding 2^23 drops the fraction.
RETRACE_FN float round_even(float x) {
    const float magnitude = from_bits(to_bits(x) & 0x7fffffffu);
    if (!(magnitude < 8388608.0f)) return x;
    const float rounded = (magnitude + 8388608.0f) - 8388608.0f;
    return from_bits(to_bits(rounded) | (to_bits(x) & kSignBit));
}

/// Round to nearest even, saturating; NaN gives 0.
RETRACE_FN std::int32_t to_int32(float x) {
    if (is_nan(x)) return 0;
    const float rounded = round_even(x);
    if (rounded >= 2147483648.0f) return 2147483647;
    if (rounded < -2147483648.0f) return -2147483647 - 1;
    return static_cast<std::int32_t>(rounded);
}

/// 2^exponent for -126 <= exponent <= 127.
RETRACE_FN float power_of_two(std::int32_t exponent) {
    return from_bits(static_cast<std::uint32_t>(exponent + 127) << 23);
}

}  // namespace retrace::kernels
