// SPDX-License-Identifier: MIT
// Elementwise ops on four elements of a thread, with the arithmetic of kernels/ops/functions.hpp.
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

template <OpCode code>
__device__ void unary(const Quad& x, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = to_bits(apply_unary<code>(from_bits(x.word[v])));
}

template <OpCode code>
__device__ void binary(const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = to_bits(apply_binary<code>(from_bits(a.word[v]), from_bits(b.word[v])));
    }
}

template <OpCode code>
__device__ void compare(DType dtype, const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = dtype == DType::i32 ? apply_compare<code>(static_cast<std::int32_t>(a.word[v]),
                                                                static_cast<std::int32_t>(b.word[v]))
                                          : apply_compare<code>(from_bits(a.word[v]), from_bits(b.word[v]));
    }
}

__device__ inline std::uint32_t converted(DType in, DType out, std::uint32_t bits) {
    if (in == DType::f32) return static_cast<std::uint32_t>(to_int32(from_bits(bits)));
    std::int32_t value = static_cast<std::int32_t>(bits);
    if (in == DType::i8) value = static_cast<std::int8_t>(bits & 0xff);
    return out == DType::i32 ? static_cast<std::uint32_t>(value) : to_bits(static_cast<float>(value));
}

__device__ inline void multiply_add(const Quad& a, const Quad& b, const Quad& c, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        out.word[v] = to_bits(apply_fma(from_bits(a.word[v]), from_bits(b.word[v]), from_bits(c.word[v])));
    }
}

__device__ inline void select(const Quad& a, const Quad& b, const Quad& c, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = a.word[v] != 0 ? b.word[v] : c.word[v];
}

/// Computes the rarely used ops.
__device__ inline void compute_bits(const ElementOp& step, const Quad& a, const Quad& b, Quad& out) {
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        switch (step.code) {
            case OpCode::convert: out.word[v] = converted(step.in, step.out, a.word[v]); break;
            case OpCode::powi:
                out.word[v] = to_bits(apply_powi(from_bits(a.word[v]), static_cast<std::int32_t>(b.word[v])));
                break;
            case OpCode::logical_and: out.word[v] = a.word[v] & b.word[v]; break;
            case OpCode::logical_or: out.word[v] = a.word[v] | b.word[v]; break;
            case OpCode::logical_not: out.word[v] = a.word[v] ^ 1; break;
            default: break;
        }
    }
}

__device__ inline void compute(const ElementOp& step, const Quad& a, const Quad& b, const Quad& c, Quad& out) {
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
        default: return compute_bits(step, a, b, out);
    }
}

}  // namespace retrace::kernels::cuda
