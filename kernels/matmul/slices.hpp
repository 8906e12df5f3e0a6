// SPDX-License-Identifier: MIT
// Slicing a vector into int8 digits with a power-of-two scale (contract 4.2, whose symbols the comments use), one value
// at a time.
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kSlicesMax = 3;
inline constexpr std::uint32_t kBlockK = 256;
inline constexpr std::int32_t kExponentMin = -96;  ///< Keeps every scale and every product of two scales normal.

struct Digits {
    std::int8_t digit[kSlicesMax] = {};
};

/// 1, 2, 3 for i8x1, i8x2, i8x3; 0 for f32.
RETRACE_FN std::uint32_t slices_of(Precision precision) {
    switch (precision) {
        case Precision::i8x1: return 1;
        case Precision::i8x2: return 2;
        case Precision::i8x3: return 3;
        case Precision::f32: break;
    }
    return 0;
}

/// Returns m: the largest magnitude as bits.
RETRACE_FN std::uint32_t slice_max(const float* x, std::uint64_t n, std::uint64_t stride) {
    std::uint32_t largest = 0;
    for (std::uint64_t k = 0; k < n; ++k) {
        const std::uint32_t magnitude = to_bits(x[k * stride]) & 0x7fffffffu;
        if (magnitude > largest) largest = magnitude;
    }
    return largest;
}

/// Returns E. The added half step of the leading seven bits makes room for a value that rounds up.
RETRACE_FN std::int32_t slice_exponent(std::uint32_t largest) {
    const std::int32_t exponent = static_cast<std::int32_t>((largest + 0x00020000u) >> 23) - 126;
    return exponent < kExponentMin ? kExponentMin : exponent;
}

/// Returns the scale: NaN if the vector holds a NaN or an Inf.
RETRACE_FN float slice_scale(std::uint32_t slices, std::uint32_t largest) {
    if (largest >= kInfinityBits) return from_bits(kNanBits);
    return power_of_two(slice_exponent(largest) - 7 - 4 * (static_cast<std::int32_t>(slices) - 1));
}

/// Returns q. -122 <= Q-E <= 119, so the factor is a normal number; a product too small to be exact converts to 0.
RETRACE_FN std::int32_t slice_quantum(std::uint32_t slices, float x, std::int32_t exponent) {
    return to_int32(x * power_of_two(8 * static_cast<std::int32_t>(slices) - 1 - exponent));
}

/// Returns the digits d_t.
RETRACE_FN Digits slice_digits(std::uint32_t slices, float x, std::int32_t exponent) {
    Digits digits;
    std::int32_t q = slice_quantum(slices, x, exponent);
    if (slices > 2) {
        digits.digit[2] = static_cast<std::int8_t>(q & 0xff);
        q = (q - digits.digit[2]) / 256;
    }
    if (slices > 1) {
        digits.digit[1] = static_cast<std::int8_t>(q & 0xff);
        q = (q - digits.digit[1]) / 256;
    }
    digits.digit[0] = static_cast<std::int8_t>(q);
    return digits;
}

}  // namespace retrace::kernels
