// SPDX-License-Identifier: MIT
// One level of a reduction (SPEC 4, contract 5): 256 terms of a row or a column become one. Longer reductions are
// compositions of levels.
#include "kernels/reduce/reduce.hpp"

#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;

Result<Operand> rows_output(const OpFacts& facts) {
    if (facts.inputs[0].dtype != DType::f32) return error("takes fp32");
    if (facts.inputs[0].dims.empty()) return error("takes a rank of at least 1");
    Operand out{DType::f32, facts.inputs[0].dims};
    out.dims.back() = reduce_level_size(out.dims.back());
    return out;
}

Result<Operand> columns_output(const OpFacts& facts) {
    if (facts.inputs[0].dtype != DType::f32) return error("takes fp32");
    const Geometry shape = geometry(facts.inputs[0].dims);
    return Operand{DType::f32, {reduce_level_size(shape.rows), shape.cols}};
}

Result<Operand> argmax_output(const OpFacts& facts) {
    RETRACE_TRY(out, rows_output(facts));
    const std::uint64_t cols = facts.inputs[0].dims.back();
    if (cols == 0 || cols > 0x7fffffff) return error("takes 1 to 2^31-1 columns");
    out.dtype = DType::i32;
    return out;
}

Result<Operand> pick_output(const OpFacts& facts) {
    if (facts.inputs[1].dtype != DType::i32 || facts.inputs[1].dims != facts.inputs[0].dims) {
        return error("the indices are not int32 of the values' shape");
    }
    return argmax_output(facts);
}

std::uint64_t cost(const OpFacts& facts) { return std::max(elements_of(facts.inputs[0]), elements_of(facts.output)); }

/// The terms of one result: `count` elements from `first` on, `stride` apart.
struct Terms {
    std::uint64_t first = 0, count = 0, stride = 1;
};

Terms row_terms(const OpFacts& facts, std::uint64_t element) {
    const std::uint64_t cols = facts.inputs[0].dims.back(), results = facts.output.dims.back();
    const std::uint64_t begin = element % results * kReduceTerms;
    return {element / results * cols + begin, std::min(kReduceTerms, cols - begin), 1};
}

Terms column_terms(const OpFacts& facts, std::uint64_t element) {
    const Geometry shape = geometry(facts.inputs[0].dims);
    const std::uint64_t begin = element / shape.cols * kReduceTerms;
    return {begin * shape.cols + element % shape.cols, std::min(kReduceTerms, shape.rows - begin), shape.cols};
}

std::array<float, kReduceTerms> read_terms(const Terms& terms, Reads& reads) {
    std::array<float, kReduceTerms> values;
    for (std::uint64_t i = 0; i < terms.count; ++i) values[i] = reads.f32(0, terms.first + i * terms.stride);
    return values;
}

template <Terms (*terms_of)(const OpFacts&, std::uint64_t), Reduction kind>
std::uint32_t reduce_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const Terms terms = terms_of(facts, query.element);
    const std::array<float, kReduceTerms> values = read_terms(terms, reads);
    return to_bits(kind == Reduction::sum ? reduce_level_sum(values.data(), terms.count, 1)
                                          : reduce_level_max(values.data(), terms.count, 1));
}

std::uint64_t first_greatest(const Terms& terms, Reads& reads) {
    const std::array<float, kReduceTerms> values = read_terms(terms, reads);
    std::uint64_t best = 0;
    for (std::uint64_t i = 1; i < terms.count; ++i) {
        if (argmax_replaces(values[i], values[best])) best = i;
    }
    return best;
}

std::uint32_t argmax_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t group = query.element % facts.output.dims.back();
    return static_cast<std::uint32_t>(group * kReduceTerms + first_greatest(row_terms(facts, query.element), reads));
}

std::uint32_t pick_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const Terms terms = row_terms(facts, query.element);
    return reads.bits(1, terms.first + first_greatest(terms, reads));
}

constexpr std::array kRules = {
    OpRule{OpCode::row_sum, "row_sum", 1, 1, 0, 0, false, rows_output, cost, nullptr,
           reduce_element<row_terms, Reduction::sum>},
    OpRule{OpCode::col_sum, "col_sum", 1, 1, 0, 0, false, columns_output, cost, nullptr,
           reduce_element<column_terms, Reduction::sum>},
    OpRule{OpCode::row_max, "row_max", 1, 1, 0, 0, false, rows_output, cost, nullptr,
           reduce_element<row_terms, Reduction::max>},
    OpRule{OpCode::col_max, "col_max", 1, 1, 0, 0, false, columns_output, cost, nullptr,
           reduce_element<column_terms, Reduction::max>},
    OpRule{OpCode::row_argmax, "row_argmax", 1, 1, 0, 0, false, argmax_output, cost, nullptr, argmax_element},
    OpRule{OpCode::row_argmax_pick, "row_argmax_pick", 2, 2, 0, 0, false, pick_output, cost, nullptr, pick_element},
};

}  // namespace

std::span<const OpRule> reduce_rules() { return kRules; }

}  // namespace retrace::kernels
