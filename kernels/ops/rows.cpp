// SPDX-License-Identifier: MIT
// Rows by index (SPEC 5): embedding, batches of a data set, and the gradient of both.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;
constexpr std::uint64_t kTokens = 256;  ///< Tokens of one link of a scatter.

bool is_index(const Operand& operand) { return operand.dtype == DType::i32 && operand.dims.size() == 1; }

/// Returns the number of elements of one row of a table.
std::uint64_t width_of(const Operand& table) {
    return std::accumulate(table.dims.begin() + 1, table.dims.end(), std::uint64_t{1}, std::multiplies<>());
}

Result<Operand> gather_output(const OpFacts& facts) {
    const Operand& table = facts.inputs[0];
    if (table.dims.empty()) return error("the table has no rows");
    if (!is_index(facts.inputs[1])) return error("the index is not int32 of rank 1");
    Operand out{table.dtype, table.dims};
    out.dims[0] = facts.inputs[1].dims[0];
    return out;
}

std::uint32_t gather_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t width = width_of(facts.inputs[0]);
    const std::int32_t row = reads.i32(1, query.element / width);
    if (row < 0 || static_cast<std::uint64_t>(row) >= facts.inputs[0].dims[0]) return 0;
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

// 480 indices lie in 15 tiles, and an element reads one tile more: of the rows or of the table.
constexpr std::uint64_t kPutRowsMax = 480;

Result<Operand> put_output(const OpFacts& facts) {
    const Operand &table = facts.inputs[0], &rows = facts.inputs[1], &index = facts.inputs[2];
    if (table.dims.empty()) return error("the table has no rows");
    if (rows.dtype != table.dtype) return error("the rows differ from the table in dtype");
    if (rows.dims.size() != table.dims.size() ||
        !std::equal(table.dims.begin() + 1, table.dims.end(), rows.dims.begin() + 1)) {
        return error("the rows are not of the table's width");
    }
    if (!is_index(index)) return error("the index is not int32 of rank 1");
    if (index.dims[0] != rows.dims[0]) return error("one index a row is needed");
    if (index.dims[0] > kPutRowsMax) return error("takes at most 480 rows");
    return table;
}

std::uint64_t put_cost(const OpFacts& facts) {
    return saturating_add(elements_of(facts.output), elements_of(facts.inputs[1]));
}

/// Reads the index from its end, so that no index before the one that holds is evidence.
std::uint32_t put_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t width = width_of(facts.inputs[0]), row = query.element / width, col = query.element % width;
    for (std::uint64_t i = facts.inputs[2].dims[0]; i-- > 0;) {
        const std::int32_t index = reads.i32(2, i);
        if (index >= 0 && static_cast<std::uint64_t>(index) == row) return reads.bits(1, i * width + col);
    }
    return reads.bits(0, query.element);
}

constexpr std::array kRules = {
    OpRule{OpCode::gather_rows, "gather_rows", 2, 2, 0, 0, false, gather_output, cost_of_output, nullptr,
           gather_element},
    OpRule{OpCode::scatter_add_rows, "scatter_add_rows", 2, 2, 1, 1, false, scatter_output, scatter_cost, scatter_links,
           scatter_element},
    OpRule{OpCode::put_rows, "put_rows", 3, 3, 0, 0, false, put_output, put_cost, nullptr, put_element},
};

}  // namespace

std::span<const OpRule> rows_rules() { return kRules; }

}  // namespace retrace::kernels
