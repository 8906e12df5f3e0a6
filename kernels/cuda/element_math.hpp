// SPDX-License-Identifier: MIT
// Elementwise ops on the elements of a thread, four times `kQuads`, with the arithmetic of kernels/ops/functions.hpp.
// A thread finds out the op once for all its elements.
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/ops/functions.hpp"
#include "kernels/program/dtype.hpp"

namespace retrace::kernels::cuda {

inline constexpr std::uint32_t kEach = 4;

struct alignas(16) Quad {
    std::uint32_t word[kEach];
};

/// An elementwise op without the locations of its operands.
struct ElementOp {
    OpCode code;
    DType in, out;  ///< Types of the operand and the result, for convert and compare.
};

/// Calls `each(q, v)` for every element v of every quad q.
template <std::uint32_t kQuads, class Each>
__device__ void for_all(const Each& each) {
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kQuads * kEach; ++i) each(i / kEach, i % kEach);
}

template <OpCode code, std::uint32_t kQuads>
__device__ void unary(const Quad (&x)[kQuads], Quad (&out)[kQuads]) {
    for_all<kQuads>([&](std::uint32_t q, std::uint32_t v) {
        out[q].word[v] = to_bits(apply_unary<code>(from_bits(x[q].word[v])));
    });
}

template <OpCode code, std::uint32_t kQuads>
__device__ void binary(const Quad (&a)[kQuads], const Quad (&b)[kQuads], Quad (&out)[kQuads]) {
    for_all<kQuads>([&](std::uint32_t q, std::uint32_t v) {
        out[q].word[v] = to_bits(apply_binary<code>(from_bits(a[q].word[v]), from_bits(b[q].word[v])));
    });
}

template <OpCode code, std::uint32_t kQuads>
__device__ void compare(DType dtype, const Quad (&a)[kQuads], const Quad (&b)[kQuads], Quad (&out)[kQuads]) {
    for_all<kQuads>([&](std::uint32_t q, std::uint32_t v) {
        const std::uint32_t left = a[q].word[v], right = b[q].word[v];
        out[q].word[v] = dtype == DType::i32
                             ? apply_compare<code>(static_cast<std::int32_t>(left), static_cast<std::int32_t>(right))
                             : apply_compare<code>(from_bits(left), from_bits(right));
    });
}

__device__ inline std::uint32_t converted(DType in, DType out, std::uint32_t bits) {
    if (in == DType::f32) return static_cast<std::uint32_t>(to_int32(from_bits(bits)));
    std::int32_t value = static_cast<std::int32_t>(bits);
    if (in == DType::i8) value = static_cast<std::int8_t>(bits & 0xff);
    return out == DType::i32 ? static_cast<std::uint32_t>(value) : to_bits(static_cast<float>(value));
}

template <std::uint32_t kQuads>
__device__ void multiply_add(const Quad (&a)[kQuads], const Quad (&b)[kQuads], const Quad (&c)[kQuads],
                             Quad (&out)[kQuads]) {
    for_all<kQuads>([&](std::uint32_t q, std::uint32_t v) {
        out[q].word[v] = to_bits(apply_fma(from_bits(a[q].word[v]), from_bits(b[q].word[v]), from_bits(c[q].word[v])));
    });
}

template <std::uint32_t kQuads>
__device__ void select(const Quad (&a)[kQuads], const Quad (&b)[kQuads], const Quad (&c)[kQuads], Quad (&out)[kQuads]) {
    for_all<kQuads>(
        [&](std::uint32_t q, std::uint32_t v) { out[q].word[v] = a[q].word[v] != 0 ? b[q].word[v] : c[q].word[v]; });
}

/// Computes one element of a rarely used op.
__device__ inline std::uint32_t computed_bits(const ElementOp& step, std::uint32_t a, std::uint32_t b) {
    switch (step.code) {
        case OpCode::convert: return converted(step.in, step.out, a);
        case OpCode::powi: return to_bits(apply_powi(from_bits(a), static_cast<std::int32_t>(b)));
        case OpCode::add_wrap: return apply_words<OpCode::add_wrap>(a, b);
        case OpCode::sub_wrap: return apply_words<OpCode::sub_wrap>(a, b);
        case OpCode::and_bits: return apply_words<OpCode::and_bits>(a, b);
        case OpCode::logical_and: return a & b;
        case OpCode::logical_or: return a | b;
        case OpCode::logical_not: return a ^ 1;
        default: return 0;
    }
}

template <std::uint32_t kQuads>
__device__ void compute(const ElementOp& step, const Quad (&a)[kQuads], const Quad (&b)[kQuads],
                        const Quad (&c)[kQuads], Quad (&out)[kQuads]) {
    switch (step.code) {
        case OpCode::neg: return unary<OpCode::neg>(a, out);
        case OpCode::abs: return unary<OpCode::abs>(a, out);
        case OpCode::exp: return unary<OpCode::exp>(a, out);
        case OpCode::log: return unary<OpCode::log>(a, out);
        case OpCode::tanh: return unary<OpCode::tanh>(a, out);
        case OpCode::sigmoid: return unary<OpCode::sigmoid>(a, out);
        case OpCode::erf: return unary<OpCode::erf>(a, out);
        case OpCode::sqrt: return unary<OpCode::sqrt>(a, out);
        case OpCode::rsqrt: return unary<OpCode::rsqrt>(a, out);
        case OpCode::relu: return unary<OpCode::relu>(a, out);
        case OpCode::sin_turns: return unary<OpCode::sin_turns>(a, out);
        case OpCode::cos_turns: return unary<OpCode::cos_turns>(a, out);
        case OpCode::add: return binary<OpCode::add>(a, b, out);
        case OpCode::sub: return binary<OpCode::sub>(a, b, out);
        case OpCode::mul: return binary<OpCode::mul>(a, b, out);
        case OpCode::div: return binary<OpCode::div>(a, b, out);
        case OpCode::max: return binary<OpCode::max>(a, b, out);
        case OpCode::min: return binary<OpCode::min>(a, b, out);
        case OpCode::pow: return binary<OpCode::pow>(a, b, out);
        case OpCode::equal: return compare<OpCode::equal>(step.in, a, b, out);
        case OpCode::less: return compare<OpCode::less>(step.in, a, b, out);
        case OpCode::less_equal: return compare<OpCode::less_equal>(step.in, a, b, out);
        case OpCode::greater: return compare<OpCode::greater>(step.in, a, b, out);
        case OpCode::greater_equal: return compare<OpCode::greater_equal>(step.in, a, b, out);
        case OpCode::fma: return multiply_add(a, b, c, out);
        case OpCode::select: return select(a, b, c, out);
        default: break;
    }
    for_all<kQuads>(
        [&](std::uint32_t q, std::uint32_t v) { out[q].word[v] = computed_bits(step, a[q].word[v], b[q].word[v]); });
}

}  // namespace retrace::kernels::cuda
