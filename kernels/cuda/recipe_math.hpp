// SPDX-License-Identifier: MIT
// The steps of a recipe on values in registers, with the arithmetic of kernels/ops/functions.hpp. Between steps a NaN
// keeps whatever bits it has: every op but `select` gives NaN for a NaN whatever its bits, and the results of steps that
// `select` or memory takes get the one NaN of the epilogue, so that what is stored has the bits of the separate ops.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/recipe.hpp"
#include "kernels/ops/functions.hpp"

namespace retrace::kernels::cuda {

/// The epilogue but for NaNs: a value with exponent field 0 becomes a zero of the same sign.
__device__ inline float flushed(float x) { return magnitude32(x) < 0x1p-126f ? from_bits(to_bits(x) & kSignBit) : x; }

/// Computes one step for one element; operands that the op does not have are ignored.
template <OpCode code, bool kIntegers>
__device__ float recipe_value(float a, float b, float c) {
    if constexpr (code == OpCode::neg) return flushed(-a);
    if constexpr (code == OpCode::abs) return flushed(magnitude32(a));
    if constexpr (code == OpCode::exp) return flushed(fn_exp(a));
    if constexpr (code == OpCode::log) return flushed(fn_log(a));
    if constexpr (code == OpCode::tanh) return flushed(fn_tanh(a));
    if constexpr (code == OpCode::sigmoid) return flushed(fn_sigmoid(a));
    if constexpr (code == OpCode::erf) return flushed(fn_erf(a));
    if constexpr (code == OpCode::sqrt) return flushed(fn_sqrt(a));
    if constexpr (code == OpCode::rsqrt) return flushed(fn_rsqrt(a));
    if constexpr (code == OpCode::relu) return flushed(a <= 0.0f ? 0.0f : a);
    if constexpr (code == OpCode::add) return flushed(a + b);
    if constexpr (code == OpCode::sub) return flushed(a - b);
    if constexpr (code == OpCode::mul) return flushed(a * b);
    if constexpr (code == OpCode::div) return flushed(divide32(a, b));
    if constexpr (code == OpCode::max) return flushed(max32(a, b));
    if constexpr (code == OpCode::min) return flushed(min32(a, b));
    if constexpr (code == OpCode::fma) return flushed(fma32(a, b, c));
    // Booleans and integers are words.
    if constexpr (code == OpCode::greater) return from_bits(a > b);
    if constexpr (code == OpCode::equal && kIntegers) return from_bits(to_bits(a) == to_bits(b));
    if constexpr (code == OpCode::select) return to_bits(a) != 0 ? b : c;
    if constexpr (code == OpCode::convert) return static_cast<float>(static_cast<std::int32_t>(to_bits(a)));
    return 0.0f;
}

/// Calls f(constant 0), f(constant 1), …, f(constant N - 1).
template <std::uint32_t N, class F, std::uint32_t... kNumbers>
__device__ void for_constants(const F& f, std::integer_sequence<std::uint32_t, kNumbers...>) {
    (f(std::integral_constant<std::uint32_t, kNumbers>()), ...);
}
template <std::uint32_t N, class F>
__device__ void for_constants(const F& f) {
    for_constants<N>(f, std::make_integer_sequence<std::uint32_t, N>());
}

/// Whether a NaN that is this value of the recipe may have any bits.
RETRACE_ANYWHERE constexpr bool has_loose_nan(const Recipe& recipe, std::uint32_t value) {
    if (value < recipe.inputs) return false;
    const OpCode code = recipe.step[value - recipe.inputs].code;
    return code != OpCode::select && code != OpCode::greater && code != OpCode::equal && code != OpCode::convert;
}
template <bool kLoose>
__device__ float with_one_nan(float x) {
    return kLoose && x != x ? from_bits(kNanBits) : x;
}

/// Returns operand `i` of step `s`, given `value(constant number)`; 0 if the step has fewer.
template <const Recipe& kRecipe, std::uint32_t s, std::uint32_t i, class Value>
__device__ float operand_of(const Value& value) {
    constexpr RecipeStep own = kRecipe.step[s];
    if constexpr (i < own.operands) {
        constexpr bool kPicked = own.code == OpCode::select && i != 0;
        return with_one_nan < kPicked &&
               has_loose_nan(kRecipe, own.from[i]) > (value(std::integral_constant<std::uint32_t, own.from[i]>()));
    } else {
        return 0.0f;
    }
}

/// Computes step `s` of a recipe for one element.
template <const Recipe& kRecipe, std::uint32_t s, class Value>
__device__ float recipe_step(const Value& value) {
    return recipe_value<kRecipe.step[s].code, kRecipe.step[s].integers>(
        operand_of<kRecipe, s, 0>(value), operand_of<kRecipe, s, 1>(value), operand_of<kRecipe, s, 2>(value));
}

}  // namespace retrace::kernels::cuda
