// SPDX-License-Identifier: MIT
// Elementwise loops written by hand for AVX-512, where they are two to three times as fast as what a compiler makes
// of loops_body.hpp. Included by loops_avx512.cpp alone. kernels/scalar defines the values; what differs here is
// that the epilogue is only looked for, as few results need it, and that the unit scales by powers of two and lets
// NaNs through by itself.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own intrinsics start from an undefined register and warn about it (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "kernels/ops/cpu/loops.hpp"
#include "kernels/scalar/functions.hpp"

namespace retrace::kernels {
namespace {

using Lanes = __m512;
constexpr std::size_t kLanes = 16, kUnroll = 4;

Lanes all(float x) {
    return _mm512_set1_ps(x);
}
Lanes all_bits(std::uint32_t bits) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(bits)));
}
Lanes fma(Lanes a, Lanes b, Lanes c) {
    return _mm512_fmadd_ps(a, b, c);
}

template <bool Moves>
struct Operand {
    explicit Operand(const LoopOperand& from) : data(static_cast<const float*>(from.data)), one(all(*data)) {}
    Lanes at(std::size_t i) const {
        if constexpr (Moves) return _mm512_loadu_ps(data + i);
        return one;
    }
    Lanes at(std::size_t i, __mmask16 lanes) const {
        if constexpr (Moves) return _mm512_maskz_loadu_ps(lanes, data + i);
        return one;
    }
    const float* data;
    Lanes one;
};

/// Lanes that the epilogue of NUMERICS 1 changes: a NaN, quiet or signalling, or a subnormal.
__mmask16 special(Lanes x) {
    return _mm512_fpclass_ps_mask(x, 0x01 | 0x80 | 0x20);
}

Lanes finish_lanes(Lanes x) {
    const __mmask16 nan = _mm512_fpclass_ps_mask(x, 0x01 | 0x80), tiny = _mm512_fpclass_ps_mask(x, 0x20);
    return _mm512_mask_mov_ps(_mm512_mask_and_ps(x, tiny, x, all_bits(kSignBit)), nan, all_bits(kNanBits));
}

/// out[i] = finish(f(in[i]...)). All of a round is read before any of it is written.
template <class F, bool... Moves>
void each(float* out, std::size_t n, F f, const Operand<Moves>&... in) {
    std::size_t i = 0;
    for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
        Lanes y[kUnroll];
        unsigned found = 0;
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kUnroll; ++j) y[j] = f(in.at(i + j * kLanes)...);
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kUnroll; ++j) found |= special(y[j]);
        if (found != 0) {
#pragma GCC unroll 4
            for (std::size_t j = 0; j < kUnroll; ++j) y[j] = finish_lanes(y[j]);
        }
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kUnroll; ++j) _mm512_storeu_ps(out + i + j * kLanes, y[j]);
    }
    for (; i < n; i += kLanes) {
        const auto lanes = static_cast<__mmask16>(n - i >= kLanes ? 0xffff : (1u << (n - i)) - 1);
        _mm512_mask_storeu_ps(out + i, lanes, finish_lanes(f(in.at(i, lanes)...)));
    }
}

template <class F>
void hand1(const LoopOperand* in, void* out, std::size_t n) {
    float* const o = static_cast<float*>(out);
    if (n == 0) return;
    if (in[0].moves) return each(o, n, F{}, Operand<true>(in[0]));
    each(o, n, F{}, Operand<false>(in[0]));
}

template <class F>
void hand2(const LoopOperand* in, void* out, std::size_t n) {
    float* const o = static_cast<float*>(out);
    if (n == 0) return;
    if (in[0].moves && in[1].moves) return each(o, n, F{}, Operand<true>(in[0]), Operand<true>(in[1]));
    if (in[0].moves) return each(o, n, F{}, Operand<true>(in[0]), Operand<false>(in[1]));
    if (in[1].moves) return each(o, n, F{}, Operand<false>(in[0]), Operand<true>(in[1]));
    each(o, n, F{}, Operand<false>(in[0]), Operand<false>(in[1]));
}

template <class F, class... Known>
void hand3(const LoopOperand* in, float* out, std::size_t n, Known... known) {
    if constexpr (sizeof...(Known) == 3) {
        each(out, n, F{}, known...);
    } else if (in[sizeof...(Known)].moves) {
        hand3<F>(in, out, n, known..., Operand<true>(in[sizeof...(Known)]));
    } else {
        hand3<F>(in, out, n, known..., Operand<false>(in[sizeof...(Known)]));
    }
}

struct Add {
    Lanes operator()(Lanes a, Lanes b) const { return _mm512_add_ps(a, b); }
};
struct Sub {
    Lanes operator()(Lanes a, Lanes b) const { return _mm512_sub_ps(a, b); }
};
struct Mul {
    Lanes operator()(Lanes a, Lanes b) const { return _mm512_mul_ps(a, b); }
};
struct Div {
    Lanes operator()(Lanes a, Lanes b) const { return _mm512_div_ps(a, b); }
};
struct Fma {
    Lanes operator()(Lanes a, Lanes b, Lanes c) const { return fma(a, b, c); }
};
struct Sqrt {
    Lanes operator()(Lanes x) const { return _mm512_sqrt_ps(x); }
};
/// A NaN is not at most zero, and stays.
struct Relu {
    Lanes operator()(Lanes x) const {
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
    }
};

struct LanesPair {
    Lanes hi, lo;
};
LanesPair fast_two_sum(Lanes a, Lanes b) {
    const Lanes hi = _mm512_add_ps(a, b);
    return {hi, _mm512_add_ps(_mm512_sub_ps(a, hi), b)};
}

/// exp_scaled, with its exponent as a float; a NaN gives NaNs.
LanesPair exp_parts(Lanes x, Lanes& exponent) {
    // The second operand is the result where one of the two is a NaN.
    x = _mm512_max_ps(all(-105.0f), _mm512_min_ps(all(105.0f), x));
    const Lanes shift = all(12582912.0f);
    exponent = _mm512_sub_ps(fma(x, all(kLog2e), shift), shift);
    const Lanes hi = fma(exponent, all(-kLn2), x), lo = _mm512_mul_ps(exponent, all(-kLn2Low));
    Lanes q = all_bits(0x3ab6a8abu);
    q = fma(q, hi, all_bits(0x3c091f1cu));
    q = fma(q, hi, all_bits(0x3d2aaa72u));
    q = fma(q, hi, all_bits(0x3e2aaa45u));
    q = fma(q, hi, all_bits(0x3f000000u));
    const Lanes tail = fma(q, _mm512_mul_ps(hi, hi), fma(hi, lo, lo));
    const LanesPair sum = fast_two_sum(all(1.0f), hi);
    return {sum.hi, _mm512_add_ps(sum.lo, tail)};
}

LanesPair exp_pair(Lanes x) {
    Lanes exponent;
    const LanesPair e = exp_parts(x, exponent), value = fast_two_sum(e.hi, e.lo);
    return {_mm512_scalef_ps(value.hi, exponent), _mm512_scalef_ps(value.lo, exponent)};
}

struct Exp {
    Lanes operator()(Lanes x) const {
        Lanes exponent;
        const LanesPair e = exp_parts(x, exponent);
        return _mm512_scalef_ps(_mm512_add_ps(e.hi, e.lo), exponent);
    }
};

Lanes magnitude(Lanes x) {
    return _mm512_andnot_ps(all_bits(kSignBit), x);
}
Lanes negated(Lanes x) {
    return _mm512_xor_ps(x, all_bits(kSignBit));
}
Lanes with_sign(Lanes x, Lanes sign) {
    constexpr int kFirstChooses = 0xca;  // the bits of `sign` where the first has ones, those of `x` elsewhere
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(sign),
                                  _mm512_castps_si512(x), kFirstChooses));
}

struct Erf {
    Lanes operator()(Lanes x) const {
        const Lanes a = magnitude(x), s = _mm512_mul_ps(x, x);
        Lanes p = all_bits(0x38ae2ad0u);
        p = fma(p, s, all_bits(0xba550372u));
        p = fma(p, s, all_bits(0x3baa5f58u));
        p = fma(p, s, all_bits(0xbcdc0691u));
        p = fma(p, s, all_bits(0x3de716f7u));
        p = fma(p, s, all_bits(0xbec093a1u));
        p = fma(p, s, all_bits(0x3e0375d4u));
        const Lanes near = fma(x, p, x);
        // A NaN is not below, and takes what is near.
        const __mmask16 is_far = _mm512_cmp_ps_mask(a, all(0.9277f), _CMP_GE_OQ);
        if (is_far == 0) return near;

        const Lanes t = _mm512_min_ps(a, all(3.95f));
        Lanes g = all_bits(0x37b291deu);
        g = fma(g, t, all_bits(0xb9e4e651u));
        g = fma(g, t, all_bits(0x3b89007au));
        g = fma(g, t, all_bits(0xbccdfbdbu));
        g = fma(g, t, all_bits(0x3dddd58eu));
        g = fma(g, t, all_bits(0x3f2220dfu));
        g = fma(g, t, all_bits(0x3f909476u));
        g = fma(g, t, all_bits(0xb93a80e2u));
        const LanesPair e = exp_pair(negated(g));
        const LanesPair one = fast_two_sum(all(1.0f), negated(e.hi));
        const Lanes far = with_sign(_mm512_add_ps(one.hi, _mm512_sub_ps(one.lo, e.lo)), x);
        return _mm512_mask_mov_ps(near, is_far, far);
    }
};

struct Tanh {
    Lanes operator()(Lanes x) const {
        const Lanes a = magnitude(x), s = _mm512_mul_ps(x, x);
        Lanes p = all_bits(0x3b112f1du);
        p = fma(p, s, all_bits(0xbc072871u));
        p = fma(p, s, all_bits(0x3cb1fc9bu));
        p = fma(p, s, all_bits(0xbd5cfbb3u));
        p = fma(p, s, all_bits(0x3e088846u));
        p = fma(p, s, all_bits(0xbeaaaaaau));
        const Lanes near = fma(_mm512_mul_ps(s, x), p, x);

        const LanesPair e = exp_pair(_mm512_mul_ps(all(2.0f), _mm512_min_ps(a, all(10.0f))));
        const LanesPair d = fast_two_sum(e.hi, all(1.0f));
        const Lanes d_low = _mm512_add_ps(e.lo, d.lo), q = _mm512_div_ps(all(2.0f), d.hi);
        const Lanes rest = _mm512_fnmadd_ps(q, d_low, _mm512_fnmadd_ps(q, d.hi, all(2.0f)));
        const Lanes q_low = _mm512_mul_ps(rest, _mm512_mul_ps(all(0.5f), q));
        const LanesPair one = fast_two_sum(all(1.0f), negated(q));
        const Lanes far = _mm512_add_ps(one.hi, _mm512_sub_ps(one.lo, q_low));
        const __mmask16 is_far = _mm512_cmp_ps_mask(a, all(0.6f), _CMP_GE_OQ);
        return with_sign(_mm512_mask_mov_ps(near, is_far, far), x);
    }
};

struct Sigmoid {
    Lanes operator()(Lanes x) const {
        const Lanes a = magnitude(x), minus = _mm512_or_ps(a, all_bits(kSignBit));
        const LanesPair e = exp_pair(_mm512_max_ps(all(-25.0f), minus));
        const LanesPair d = fast_two_sum(all(1.0f), e.hi);
        const Lanes d_low = _mm512_add_ps(d.lo, e.lo);
        const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
        const Lanes top = _mm512_mask_mov_ps(all(1.0f), negative, e.hi);
        const Lanes top_low = _mm512_maskz_mov_ps(negative, e.lo), q = _mm512_div_ps(top, d.hi);
        const Lanes left = _mm512_add_ps(_mm512_fnmadd_ps(q, d.hi, top), top_low);
        const Lanes rest = _mm512_fnmadd_ps(q, d_low, left);
        const Lanes result = _mm512_add_ps(q, _mm512_div_ps(rest, d.hi));
        const __mmask16 small = _mm512_cmp_ps_mask(x, all(-25.0f), _CMP_LT_OQ);
        return small == 0 ? result : _mm512_mask_mov_ps(result, small, Exp{}(x));
    }
};

/// The loop of an op on binary32, or null where the compiler's is as good.
ElementLoop hand_loop(OpCode code) {
    switch (code) {
        case OpCode::add:
            return hand2<Add>;
        case OpCode::sub:
            return hand2<Sub>;
        case OpCode::mul:
            return hand2<Mul>;
        case OpCode::div:
            return hand2<Div>;
        case OpCode::fma:
            return [](const LoopOperand* in, void* out, std::size_t n) {
                if (n != 0) hand3<Fma>(in, static_cast<float*>(out), n);
            };
        case OpCode::sqrt:
            return hand1<Sqrt>;
        case OpCode::relu:
            return hand1<Relu>;
        case OpCode::exp:
            return hand1<Exp>;
        case OpCode::erf:
            return hand1<Erf>;
        case OpCode::tanh:
            return hand1<Tanh>;
        case OpCode::sigmoid:
            return hand1<Sigmoid>;
        default:
            return nullptr;
    }
}

}  // namespace
}  // namespace retrace::kernels
