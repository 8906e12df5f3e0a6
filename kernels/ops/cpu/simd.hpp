// SPDX-License-Identifier: MIT
// Elementwise loops written by hand, where they are faster than the compiler's version of loops_body.hpp
// (decisions/009). L is a type of lanes: HandLanesAvx2 or HandLanesAvx512. kernels/scalar defines the values. The
// differences are: the epilogue is applied only when a result needs it, which is rare; NaNs propagate without a test;
// and powers of two are multiplied in another way. Included only by files compiled for one instruction set.
#pragma once

#include "kernels/ops/cpu/loops_body.hpp"
#include "kernels/scalar/functions.hpp"

namespace retrace::kernels {
namespace {

template <class L>
struct Hand {
    using F = typename L::F;
    using I = typename L::I;
    using M = typename L::M;  ///< A mask: one bit, or one lane of bits, for each lane.
    static constexpr std::size_t kUnroll = 4;

    static F all(float x) { return L::broadcast(x); }
    static F all_bits(std::uint32_t bits) { return L::floats(L::broadcast(static_cast<std::int32_t>(bits))); }

    template <bool Moves>
    struct Operand {
        explicit Operand(const LoopOperand& from) : data(static_cast<const float*>(from.data)), one(all(*data)) {}
        F at(std::size_t i) const {
            if constexpr (Moves) return L::load(data + i);
            return one;
        }
        F at(std::size_t i, int lanes) const {
            if constexpr (Moves) return L::load_some(data + i, lanes);
            return one;
        }
        const float* data;
        F one;
    };

    /// out[i] = finish(f(in[i]...)). Each round reads all its operands before it writes.
    template <class Op, bool... Moves>
    static void each(float* out, std::size_t n, Op f, const Operand<Moves>&... in) {
        std::size_t i = 0;
        for (; i + kUnroll * L::width <= n; i += kUnroll * L::width) {
            F y[kUnroll];
#pragma GCC unroll 4
            for (std::size_t j = 0; j < kUnroll; ++j) y[j] = f(in.at(i + j * L::width)...);
            if (!Op::kFinished && L::any_special(y)) {
#pragma GCC unroll 4
                for (std::size_t j = 0; j < kUnroll; ++j) y[j] = L::finish(y[j]);
            }
#pragma GCC unroll 4
            for (std::size_t j = 0; j < kUnroll; ++j) L::store(out + i + j * L::width, y[j]);
        }
        for (; i + L::width <= n; i += L::width) L::store(out + i, L::finish(f(in.at(i)...)));
        const int rest = static_cast<int>(n - i);
        if (rest != 0) L::store_some(out + i, rest, L::finish(f(in.at(i, rest)...)));
    }

    template <class Op, class... Known>
    static void choose(const LoopOperand* in, float* out, std::size_t n, Known... known) {
        if constexpr (sizeof...(Known) == Op::kOperands) {
            each(out, n, Op{}, known...);
        } else if (in[sizeof...(Known)].moves) {
            choose<Op>(in, out, n, known..., Operand<true>(in[sizeof...(Known)]));
        } else {
            choose<Op>(in, out, n, known..., Operand<false>(in[sizeof...(Known)]));
        }
    }
    template <class Op>
    static void loop_of(const LoopOperand* in, void* out, std::size_t n) {
        if (n != 0) choose<Op>(in, static_cast<float*>(out), n);
    }

    /// An op with `operands` operands; `finished` says that its results have already had the epilogue.
    template <std::size_t operands, bool finished = false>
    struct Op {
        static constexpr std::size_t kOperands = operands;
        static constexpr bool kFinished = finished;
    };

    struct Add : Op<2> {
        F operator()(F a, F b) const { return L::add(a, b); }
    };
    struct Sub : Op<2> {
        F operator()(F a, F b) const { return L::sub(a, b); }
    };
    struct Mul : Op<2> {
        F operator()(F a, F b) const { return L::mul(a, b); }
    };
    struct Div : Op<2> {
        F operator()(F a, F b) const { return L::div(a, b); }
    };
    struct Fma : Op<3> {
        F operator()(F a, F b, F c) const { return L::fma(a, b, c); }
    };
    struct Sqrt : Op<1> {
        F operator()(F x) const { return L::sqrt(x); }
    };
    /// A NaN is not below the least normal value, so it is kept.
    struct Relu : Op<1, true> {
        F operator()(F x) const { return L::one_nan(L::zero_unless(L::not_below(x, all(0x1p-126f)), x)); }
    };

    struct Pair {
        F hi, lo;
    };
    static Pair fast_two_sum(F a, F b) {
        const F hi = L::add(a, b);
        return {hi, L::add(L::sub(a, hi), b)};
    }

    /// exp_scaled of kernels/scalar; the last bits of `shifted` are the exponent. A NaN gives NaNs.
    static Pair exp_parts(F x, F& shifted) {
        const F shift = all(12582912.0f);
        shifted = L::fma(x, all(kLog2e), shift);
        const F exponent = L::sub(shifted, shift);
        const F hi = L::fma(exponent, all(-kLn2), x), lo = L::mul(exponent, all(-kLn2Low));
        F q = all_bits(0x3ab6a8abu);
        q = L::fma(q, hi, all_bits(0x3c091f1cu));
        q = L::fma(q, hi, all_bits(0x3d2aaa72u));
        q = L::fma(q, hi, all_bits(0x3e2aaa45u));
        q = L::fma(q, hi, all_bits(0x3f000000u));
        const F tail = L::fma(q, L::mul(hi, hi), L::fma(hi, lo, lo));
        const Pair sum = fast_two_sum(all(1.0f), hi);
        return {sum.hi, L::add(sum.lo, tail)};
    }
    static Pair exp_pair(F x) {
        F shifted;
        const Pair e = exp_parts(x, shifted), value = fast_two_sum(e.hi, e.lo);
        return L::scaled(value, shifted);
    }

    struct Exp : Op<1, L::kExpFinished> {
        F operator()(F x) const {
            F shifted;
            // `min` and `max` return the second operand if either is a NaN.
            x = L::max(all(L::kExpLeast), L::min(all(L::kExpMost), x));
            const Pair e = exp_parts(x, shifted);
            return L::exp_of(L::add(e.hi, e.lo), shifted);
        }
    };

    struct Erf : Op<1> {
        F operator()(F x) const {
            const F a = L::magnitude(x), s = L::mul(x, x);
            F p = all_bits(0x38ae2ad0u);
            p = L::fma(p, s, all_bits(0xba550372u));
            p = L::fma(p, s, all_bits(0x3baa5f58u));
            p = L::fma(p, s, all_bits(0xbcdc0691u));
            p = L::fma(p, s, all_bits(0x3de716f7u));
            p = L::fma(p, s, all_bits(0xbec093a1u));
            p = L::fma(p, s, all_bits(0x3e0375d4u));
            const F near = L::fma(x, p, x);
            // A NaN fails the comparison, so it takes the value `near`.
            const M is_far = L::at_least(a, all(0.9277f));
            if (L::none(is_far)) return near;

            const F t = L::min(a, all(3.95f));
            F g = all_bits(0x37b291deu);
            g = L::fma(g, t, all_bits(0xb9e4e651u));
            g = L::fma(g, t, all_bits(0x3b89007au));
            g = L::fma(g, t, all_bits(0xbccdfbdbu));
            g = L::fma(g, t, all_bits(0x3dddd58eu));
            g = L::fma(g, t, all_bits(0x3f2220dfu));
            g = L::fma(g, t, all_bits(0x3f909476u));
            g = L::fma(g, t, all_bits(0xb93a80e2u));
            const Pair e = exp_pair(L::negated(g));
            const Pair one = fast_two_sum(all(1.0f), L::negated(e.hi));
            const F far = L::with_sign(L::add(one.hi, L::sub(one.lo, e.lo)), x);
            return L::select(is_far, far, near);
        }
    };

    struct Tanh : Op<1> {
        F operator()(F x) const {
            const F a = L::magnitude(x), s = L::mul(x, x);
            F p = all_bits(0x3b112f1du);
            p = L::fma(p, s, all_bits(0xbc072871u));
            p = L::fma(p, s, all_bits(0x3cb1fc9bu));
            p = L::fma(p, s, all_bits(0xbd5cfbb3u));
            p = L::fma(p, s, all_bits(0x3e088846u));
            p = L::fma(p, s, all_bits(0xbeaaaaaau));
            const F near = L::fma(L::mul(s, x), p, x);

            const Pair e = exp_pair(L::mul(all(2.0f), L::min(a, all(10.0f))));
            const Pair d = fast_two_sum(e.hi, all(1.0f));
            const F d_low = L::add(e.lo, d.lo), q = L::div(all(2.0f), d.hi);
            const F rest = L::fnma(q, d_low, L::fnma(q, d.hi, all(2.0f)));
            const F q_low = L::mul(rest, L::mul(all(0.5f), q));
            const Pair one = fast_two_sum(all(1.0f), L::negated(q));
            const F far = L::add(one.hi, L::sub(one.lo, q_low));
            return L::with_sign(L::select(L::at_least(a, all(0.6f)), far, near), x);
        }
    };

    struct Sigmoid : Op<1> {
        F operator()(F x) const {
            const F minus = L::with_sign(L::magnitude(x), all_bits(kSignBit));
            const Pair e = exp_pair(L::max(all(-25.0f), minus));
            const Pair d = fast_two_sum(all(1.0f), e.hi);
            const F d_low = L::add(d.lo, e.lo);
            const M negative = L::below(x, L::zero());
            const F top = L::select(negative, e.hi, all(1.0f)), top_low = L::zero_unless(negative, e.lo);
            const F q = L::div(top, d.hi);
            const F left = L::add(L::fnma(q, d.hi, top), top_low);
            const F rest = L::fnma(q, d_low, left);
            const F result = L::add(q, L::div(rest, d.hi));
            const M small = L::below(x, all(-25.0f));
            return L::none(small) ? result : L::select(small, Exp{}(x), result);
        }
    };

    /// Returns the loop of an op on binary32, or null if the compiler's loop is as fast.
    static ElementLoop loop(OpCode code) {
        switch (code) {
            case OpCode::add: return loop_of<Add>;
            case OpCode::sub: return loop_of<Sub>;
            case OpCode::mul: return loop_of<Mul>;
            case OpCode::div: return loop_of<Div>;
            case OpCode::fma: return loop_of<Fma>;
            case OpCode::sqrt: return loop_of<Sqrt>;
            case OpCode::relu: return loop_of<Relu>;
            case OpCode::exp: return loop_of<Exp>;
            case OpCode::erf: return loop_of<Erf>;
            case OpCode::tanh: return loop_of<Tanh>;
            case OpCode::sigmoid: return loop_of<Sigmoid>;
            default: return nullptr;
        }
    }
};

/// Returns the compiler's loops, replaced by those of Hand<L> where it has one.
template <class L>
Loops loops_with_hand() {
    Loops out = kLoops;
    out.element = [](OpCode code, DType in, DType result) {
        const ElementLoop by_hand = Hand<L>::loop(code);
        return by_hand != nullptr ? by_hand : element_loop(code, in, result);
    };
    return out;
}

}  // namespace
}  // namespace retrace::kernels
