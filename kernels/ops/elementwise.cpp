// SPDX-License-Identifier: MIT
// Unary, binary and ternary elementwise ops, conversions, comparisons and selection (SPEC 2, 3).
#include <array>

#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/functions.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;

Result<Operand> broadcast_output(const OpFacts& facts, DType dtype) {
    const Geometry output = geometry(facts.output.dims);
    for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
        if (!spread_of(output, geometry(facts.inputs[i].dims))) {
            return error("input " + std::to_string(i) + " of shape " + shape_text(facts.inputs[i].dims) +
                         " does not broadcast to " + shape_text(facts.output.dims));
        }
    }
    return Operand{dtype, facts.output.dims};
}

Result<Operand> all_of_type(const OpFacts& facts, DType input, DType output) {
    for (const Operand& operand : facts.inputs) {
        if (operand.dtype != input) return error("an input has the wrong dtype");
    }
    return broadcast_output(facts, output);
}

Result<Operand> floats(const OpFacts& facts) { return all_of_type(facts, DType::f32, DType::f32); }
Result<Operand> booleans(const OpFacts& facts) { return all_of_type(facts, DType::boolean, DType::boolean); }

Result<Operand> words(const OpFacts& facts) { return all_of_type(facts, DType::i32, DType::i32); }

Result<Operand> powi_output(const OpFacts& facts) {
    if (facts.inputs[0].dtype != DType::f32 || facts.inputs[1].dtype != DType::i32) {
        return error("takes an fp32 base and an int32 exponent");
    }
    return broadcast_output(facts, DType::f32);
}

Result<Operand> compare_output(const OpFacts& facts) {
    const DType dtype = facts.inputs[0].dtype;
    if (dtype != DType::f32 && dtype != DType::i32) return error("compares fp32 or int32");
    return all_of_type(facts, dtype, DType::boolean);
}

Result<Operand> select_output(const OpFacts& facts) {
    if (facts.inputs[0].dtype != DType::boolean) return error("the condition is not bool");
    if (facts.inputs[1].dtype != facts.inputs[2].dtype) return error("the choices differ in dtype");
    return broadcast_output(facts, facts.inputs[1].dtype);
}

Result<Operand> convert_output(const OpFacts& facts) {
    const DType from = facts.inputs[0].dtype;
    const std::uint64_t to = facts.op.attributes[0];
    const bool to_float = to == static_cast<std::uint64_t>(DType::f32) && from != DType::f32;
    const bool to_int = to == static_cast<std::uint64_t>(DType::i32) && from != DType::i32;
    if (!to_float && !to_int) return error("no such conversion");
    return broadcast_output(facts, static_cast<DType>(to));
}

std::uint64_t operand_index(const OpFacts& facts, std::uint32_t slot, std::uint64_t element) {
    const Geometry output = geometry(facts.output.dims);
    return spread_index(*spread_of(output, geometry(facts.inputs[slot].dims)), output, element);
}

std::uint32_t operand_bits(const OpFacts& facts, const ElementQuery& query, Reads& reads, std::uint32_t slot) {
    return reads.bits(slot, operand_index(facts, slot, query.element));
}

float operand_f32(const OpFacts& facts, const ElementQuery& query, Reads& reads, std::uint32_t slot) {
    return from_bits(operand_bits(facts, query, reads, slot));
}

std::int32_t operand_i32(const OpFacts& facts, const ElementQuery& query, Reads& reads, std::uint32_t slot) {
    return static_cast<std::int32_t>(operand_bits(facts, query, reads, slot));
}

template <OpCode code>
std::uint32_t unary_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    return to_bits(apply_unary<code>(operand_f32(facts, query, reads, 0)));
}

template <OpCode code>
std::uint32_t binary_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const float a = operand_f32(facts, query, reads, 0);
    return to_bits(apply_binary<code>(a, operand_f32(facts, query, reads, 1)));
}

std::uint32_t powi_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const float x = operand_f32(facts, query, reads, 0);
    return to_bits(apply_powi(x, operand_i32(facts, query, reads, 1)));
}

std::uint32_t fma_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const float a = operand_f32(facts, query, reads, 0);
    const float b = operand_f32(facts, query, reads, 1);
    return to_bits(apply_fma(a, b, operand_f32(facts, query, reads, 2)));
}

template <OpCode code>
std::uint32_t words_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint32_t a = operand_bits(facts, query, reads, 0);
    return apply_words<code>(a, operand_bits(facts, query, reads, 1));
}

template <OpCode code>
std::uint32_t compare_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    if (facts.inputs[0].dtype == DType::i32) {
        const std::int32_t a = operand_i32(facts, query, reads, 0);
        return apply_compare<code>(a, operand_i32(facts, query, reads, 1));
    }
    const float a = operand_f32(facts, query, reads, 0);
    return apply_compare<code>(a, operand_f32(facts, query, reads, 1));
}

std::uint32_t logical_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint32_t a = operand_bits(facts, query, reads, 0);
    if (facts.op.code == OpCode::logical_not) return a ^ 1;
    const std::uint32_t b = operand_bits(facts, query, reads, 1);
    return facts.op.code == OpCode::logical_and ? a & b : a | b;
}

/// Only the chosen operand is read, so only its tile is evidence.
std::uint32_t select_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    return operand_bits(facts, query, reads, operand_bits(facts, query, reads, 0) != 0 ? 1 : 2);
}

std::uint32_t convert_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint32_t bits = operand_bits(facts, query, reads, 0);
    if (facts.inputs[0].dtype == DType::f32) return static_cast<std::uint32_t>(to_int32(from_bits(bits)));
    std::int32_t value = static_cast<std::int32_t>(bits);
    if (facts.inputs[0].dtype == DType::i8) value = static_cast<std::int8_t>(bits);
    return facts.output.dtype == DType::i32 ? static_cast<std::uint32_t>(value) : to_bits(static_cast<float>(value));
}

template <OpCode code>
constexpr OpRule unary(std::string_view name) {
    return {code, name, 1, 1, 0, 0, false, floats, cost_of_output, nullptr, unary_element<code>};
}
template <OpCode code>
constexpr OpRule binary(std::string_view name) {
    return {code, name, 2, 2, 0, 0, false, floats, cost_of_output, nullptr, binary_element<code>};
}
template <OpCode code>
constexpr OpRule on_words(std::string_view name) {
    return {code, name, 2, 2, 0, 0, false, words, cost_of_output, nullptr, words_element<code>};
}
template <OpCode code>
constexpr OpRule compare(std::string_view name) {
    return {code, name, 2, 2, 0, 0, false, compare_output, cost_of_output, nullptr, compare_element<code>};
}
constexpr OpRule logical(OpCode code, std::string_view name, std::uint32_t inputs) {
    return {code, name, inputs, inputs, 0, 0, false, booleans, cost_of_output, nullptr, logical_element};
}

constexpr std::array kRules = {
    unary<OpCode::neg>("neg"),
    unary<OpCode::abs>("abs"),
    unary<OpCode::exp>("exp"),
    unary<OpCode::log>("log"),
    unary<OpCode::tanh>("tanh"),
    unary<OpCode::sigmoid>("sigmoid"),
    unary<OpCode::erf>("erf"),
    unary<OpCode::sqrt>("sqrt"),
    unary<OpCode::rsqrt>("rsqrt"),
    unary<OpCode::relu>("relu"),
    unary<OpCode::sin_turns>("sin_turns"),
    unary<OpCode::cos_turns>("cos_turns"),
    OpRule{OpCode::convert, "convert", 1, 1, 1, 1, false, convert_output, cost_of_output, nullptr, convert_element},
    binary<OpCode::add>("add"),
    binary<OpCode::sub>("sub"),
    binary<OpCode::mul>("mul"),
    binary<OpCode::div>("div"),
    binary<OpCode::max>("max"),
    binary<OpCode::min>("min"),
    binary<OpCode::pow>("pow"),
    OpRule{OpCode::powi, "powi", 2, 2, 0, 0, false, powi_output, cost_of_output, nullptr, powi_element},
    OpRule{OpCode::fma, "fma", 3, 3, 0, 0, false, floats, cost_of_output, nullptr, fma_element},
    on_words<OpCode::add_wrap>("add_wrap"),
    on_words<OpCode::sub_wrap>("sub_wrap"),
    on_words<OpCode::and_bits>("and_bits"),
    compare<OpCode::equal>("equal"),
    compare<OpCode::less>("less"),
    compare<OpCode::less_equal>("less_equal"),
    compare<OpCode::greater>("greater"),
    compare<OpCode::greater_equal>("greater_equal"),
    logical(OpCode::logical_and, "logical_and", 2),
    logical(OpCode::logical_or, "logical_or", 2),
    logical(OpCode::logical_not, "logical_not", 1),
    OpRule{OpCode::select, "select", 3, 3, 0, 0, false, select_output, cost_of_output, nullptr, select_element},
};

}  // namespace

std::span<const OpRule> elementwise_rules() { return kRules; }

}  // namespace retrace::kernels
