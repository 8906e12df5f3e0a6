// SPDX-License-Identifier: MIT
// Every elementwise op on single values, epilogue included: shared by the element rules and the fast loops, which are
// compiled for several instruction sets (hence the internal linkage, as in kernels/scalar).
#pragma once

#include "kernels/ops/opcode.hpp"
#include "kernels/scalar/functions.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

template <OpCode code>
RETRACE_FN float apply_unary(float x) {
    if constexpr (code == OpCode::neg) return finish(-x);
    if constexpr (code == OpCode::abs) return finish(magnitude32(x));
    if constexpr (code == OpCode::exp) return finish(fn_exp(x));
    if constexpr (code == OpCode::log) return finish(fn_log(x));
    if constexpr (code == OpCode::tanh) return finish(fn_tanh(x));
    if constexpr (code == OpCode::sigmoid) return finish(fn_sigmoid(x));
    if constexpr (code == OpCode::erf) return finish(fn_erf(x));
    if constexpr (code == OpCode::sqrt) return finish(fn_sqrt(x));
    if constexpr (code == OpCode::rsqrt) return finish(fn_rsqrt(x));
    if constexpr (code == OpCode::relu) return finish(max32(x, 0.0f));
    if constexpr (code == OpCode::sin_turns) return finish(fn_sin_turns(x));
    if constexpr (code == OpCode::cos_turns) return finish(fn_cos_turns(x));
}

/// NaN wins, -0 < +0.
RETRACE_FN float min32(float a, float b) { return -max32(-a, -b); }

template <OpCode code>
RETRACE_FN float apply_binary(float a, float b) {
    if constexpr (code == OpCode::add) return finish(a + b);
    if constexpr (code == OpCode::sub) return finish(a - b);
    if constexpr (code == OpCode::mul) return finish(a * b);
    if constexpr (code == OpCode::div) return finish(divide32(a, b));
    if constexpr (code == OpCode::max) return finish(max32(a, b));
    if constexpr (code == OpCode::min) return finish(min32(a, b));
    if constexpr (code == OpCode::pow) return finish(fn_pow(a, b));
}

RETRACE_FN float apply_powi(float x, std::int32_t n) { return finish(fn_powi(x, n)); }
RETRACE_FN float apply_fma(float a, float b, float c) { return finish(fma32(a, b, c)); }

/// Integers modulo 2^32, on their bits.
template <OpCode code>
RETRACE_FN std::uint32_t apply_words(std::uint32_t a, std::uint32_t b) {
    if constexpr (code == OpCode::add_wrap) return a + b;
    if constexpr (code == OpCode::sub_wrap) return a - b;
    if constexpr (code == OpCode::and_bits) return a & b;
}

/// On fp32 a comparison with NaN is false; -0 equals +0.
template <OpCode code, class T>
RETRACE_FN bool apply_compare(T a, T b) {
    if constexpr (code == OpCode::equal) return a == b;
    if constexpr (code == OpCode::less) return a < b;
    if constexpr (code == OpCode::less_equal) return a <= b;
    if constexpr (code == OpCode::greater) return a > b;
    if constexpr (code == OpCode::greater_equal) return a >= b;
}

}  // namespace retrace::kernels
