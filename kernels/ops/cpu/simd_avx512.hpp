// SPDX-License-Identifier: MIT
// The AVX-512 operations that the loops of simd.hpp need. Included only by files compiled for AVX-512.
#pragma once

#include "kernels/matmul/lanes_avx512.hpp"
#include "kernels/ops/cpu/simd.hpp"

namespace retrace::kernels {
namespace {

struct HandLanesAvx512 : LanesAvx512 {
    using M = __mmask16;
    using LanesAvx512::max;
    using LanesAvx512::sub;

    static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    static F div(F a, F b) { return _mm512_div_ps(a, b); }
    static F sqrt(F x) { return _mm512_sqrt_ps(x); }
    static F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
    /// These return the second operand if either is a NaN.
    static F max(F a, F b) { return _mm512_max_ps(a, b); }
    static F min(F a, F b) { return _mm512_min_ps(a, b); }

    static F magnitude(F x) { return _mm512_andnot_ps(broadcast(-0.0f), x); }
    static F negated(F x) { return _mm512_xor_ps(x, broadcast(-0.0f)); }
    /// The magnitude of `x` with the sign of `sign`.
    static F with_sign(F x, F sign) {
        constexpr int kFirstChooses = 0xca;  // bits of `sign` where the first operand has ones, else those of `x`
        return floats(_mm512_ternarylogic_epi32(broadcast(INT32_MIN), bits(sign), bits(x), kFirstChooses));
    }

    static M below(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    static M not_below(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
    static M at_least(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
    static bool none(M lanes) { return lanes == 0; }
    static F select(M lanes, F yes, F no) { return _mm512_mask_mov_ps(no, lanes, yes); }
    static F zero_unless(M lanes, F x) { return _mm512_maskz_mov_ps(lanes, x); }
    static F one_nan(F x) {
        return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), floats(broadcast(0x7fc00000)));
    }

    /// Whether the epilogue changes one of these: a NaN, quiet or signalling, or a subnormal.
    template <std::size_t N>
    static bool any_special(const F (&x)[N]) {
        unsigned found = 0;
#pragma GCC unroll 4
        for (std::size_t i = 0; i < N; ++i) found |= _mm512_fpclass_ps_mask(x[i], 0x01 | 0x80 | 0x20);
        return found != 0;
    }

    /// The instruction scales by powers of two and rounds once, with the same result as the two steps of scale32.
    static constexpr bool kExpFinished = false;
    static constexpr float kExpLeast = -105.0f, kExpMost = 105.0f;
    static F exp_of(F value, F shifted) {
        return _mm512_scalef_ps(value, _mm512_sub_ps(shifted, broadcast(12582912.0f)));
    }
    template <class Pair>
    static Pair scaled(Pair value, F shifted) {
        return {exp_of(value.hi, shifted), exp_of(value.lo, shifted)};
    }
};

}  // namespace
}  // namespace retrace::kernels
