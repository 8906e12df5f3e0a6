// SPDX-License-Identifier: MIT
// The AVX2 operations that the loops of simd.hpp need. Included only by files compiled for AVX2.
#pragma once

#include "kernels/matmul/lanes_avx2.hpp"
#include "kernels/ops/cpu/simd.hpp"

namespace retrace::kernels {
namespace {

struct HandLanesAvx2 : LanesAvx2 {
    using M = __m256;
    using LanesAvx2::max;
    using LanesAvx2::sub;

    static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
    static F div(F a, F b) { return _mm256_div_ps(a, b); }
    static F sqrt(F x) { return _mm256_sqrt_ps(x); }
    static F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
    /// These return the second operand if either is a NaN.
    static F max(F a, F b) { return _mm256_max_ps(a, b); }
    static F min(F a, F b) { return _mm256_min_ps(a, b); }

    static F magnitude(F x) { return _mm256_andnot_ps(broadcast(-0.0f), x); }
    static F negated(F x) { return _mm256_xor_ps(x, broadcast(-0.0f)); }
    /// The magnitude of `x` with the sign of `sign`.
    static F with_sign(F x, F sign) { return _mm256_or_ps(magnitude(x), _mm256_and_ps(sign, broadcast(-0.0f))); }

    static M below(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    static M not_below(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
    static M at_least(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
    static bool none(M lanes) { return _mm256_movemask_ps(lanes) == 0; }
    static F select(M lanes, F yes, F no) { return _mm256_blendv_ps(no, yes, lanes); }
    static F zero_unless(M lanes, F x) { return _mm256_and_ps(lanes, x); }
    static F one_nan(F x) { return select(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), floats(broadcast(0x7fc00000)), x); }

    /// Whether the epilogue may change one of these: without the sign, the bits of zeros, subnormals and NaNs are one
    /// range modulo 2^32, which is moved to the top.
    template <std::size_t N>
    static bool any_special(const F (&x)[N]) {
        I most = broadcast(INT32_MIN);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < N; ++i) most = max(most, add(shift_left<1>(bits(x[i])), broadcast(0x7f000000)));
        return any_less(broadcast(0x7e000000), most);
    }

    /// A power of two is added to the exponent, which is exact for normal results; other results become +0 or +Inf as
    /// by the epilogue, because no value of the algorithm rounds up to 2^-126. All 2^32 inputs have been tested
    /// (decisions/009).
    static constexpr bool kExpFinished = true;
    static constexpr float kExpLeast = -89.0f, kExpMost = 89.0f;
    static F exp_of(F value, F shifted) {
        const I sum = _mm256_min_epi32(add(bits(value), shift_left<23>(bits(shifted))), broadcast(0x7f800000));
        return select(_mm256_cmp_ps(value, value, _CMP_UNORD_Q), floats(broadcast(0x7fc00000)),
                      floats(bit_and(sum, less(broadcast(0x007fffff), sum))));
    }
    template <class Pair>
    static Pair scaled(Pair value, F shifted) {
        const F scale = floats(add(shift_left<23>(bits(shifted)), broadcast(0x3f800000)));
        return {mul(value.hi, scale), mul(value.lo, scale)};
    }
};

}  // namespace
}  // namespace retrace::kernels
