// SPDX-License-Identifier: MIT
// Rows by index (SPEC 5): embedding, batches of a data set, and the gradient of both.
#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;
constexpr std::uint64_t kTokens = 256;  ///< Tokens of one link of a scatter.

bool is_index(const Operand& operand) { return operand.dtype == DType::i32 && operand.dims.size() == 1; }

Result<Operand> gather_output(const OpFacts& facts) {
    const Operand& table = facts.inputs[0];
    if (table.dims.empty()) return error("the table has no rows");
    if (!is_index(facts.inputs[1])) return error("the index is not int32 of rank 1");
    Operand out{table.dtype, table.dims};
    out.dims[0] = facts.inputs[1].dims[0];
    return out;
}

std::uint32_t gather_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    std::uint64_t width = 1;
    const Dims& dims = facts.inputs[0].dims;
    for (std::size_t i = 1; i < dims.size(); ++i) width *= dims[i];
    const std::int32_t row = reads.i32(1, query.element / width);
    if (row < 0 || static_cast<std::uint64_t>(row) >= dims[0]) return 0;
    return reads.bits(0, static_cast<std::uint64_t>(row) * width + query.element % width);
}

// The rank must be 2: with more, a token's row would be in many tile rows and a link would read more than 18 tiles.
Result<Operand> scatter_output(const OpFacts& facts) {
    const Operand& values = facts.inputs[0];
    if (values.dtype != DType::f32 || values.dims.size() != 2) return error("the values are not fp32 of rank 2");
    if (!is_index(facts.inputs[1])) return error("the index is not int32 of rank 1");
    if (facts.inputs[1].dims[0] != values.dims[0]) return error("one index a row is needed");
    if (facts.op.attributes[0] > kElementsMax) return error("too many rows");
    return Operand{DType::f32, {facts.op.attributes[0], values.dims[1]}};
}

std::uint64_t scatter_cost(const OpFacts& facts) {
    return saturating_add(elements_of(facts.inputs[0]), elements_of(facts.output));
}

std::uint64_t scatter_links(const OpFacts& facts) {
    return std::max<std::uint64_t>(1, (facts.inputs[0].dims[0] + kTokens - 1) / kTokens);
}

std::uint32_t scatter_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t tokens = facts.inputs[0].dims[0], width = facts.inputs[0].dims[1];
    const std::uint64_t row = query.element / width, col = query.element % width;
    const std::uint64_t begin = query.link * kTokens, end = std::min(tokens, begin + kTokens);
    float sum = 0.0f;
    for (std::uint64_t t = begin; t < end; ++t) {
        const std::int32_t index = reads.i32(1, t);
        if (index >= 0 && static_cast<std::uint64_t>(index) == row) sum += reads.f32(0, t * width + col);
    }
    const float before = query.link == 0 ? 0.0f : from_bits(query.before);
    const float carried = canonical_nan(before + sum);
    return to_bits(query.link + 1 == scatter_links(facts) ? finish(carried) : carried);
}

constexpr std::array kRules = {
    OpRule{OpCode::gather_rows, "gather_rows", 2, 2, 0, 0, false, gather_output, cost_of_output, nullptr,
           gather_element},
    OpRule{OpCode::scatter_add_rows, "scatter_add_rows", 2, 2, 1, 1, false, scatter_output, scatter_cost, scatter_links,
           scatter_element},
};

}  // namespace

std::span<const OpRule> rows_rules() { return kRules; }

}  // namespace retrace::kernels
