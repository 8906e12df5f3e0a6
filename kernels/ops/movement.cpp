// SPDX-License-Identifier: MIT
// Data movement (SPEC 6): bits are copied, there is no epilogue. An element reads at most one element.
#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;
using Index = std::array<std::uint64_t, kRankMax>;

Index unravel(const Dims& dims, std::uint64_t element) {
    Index index{};
    for (std::size_t axis = dims.size(); axis-- > 0;) {
        index[axis] = element % dims[axis];
        element /= dims[axis];
    }
    return index;
}

std::uint64_t ravel(const Dims& dims, const Index& index) {
    std::uint64_t element = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) element = element * dims[axis] + index[axis];
    return element;
}

Result<Operand> reshape_output(const OpFacts& facts) {
    if (elements_of(facts.inputs[0]) != elements_of(facts.output)) {
        return error("cannot reshape " + shape_text(facts.inputs[0].dims) + " to " + shape_text(facts.output.dims));
    }
    return Operand{facts.inputs[0].dtype, facts.output.dims};
}

std::uint32_t reshape_element(const OpFacts&, const ElementQuery& query, Reads& reads) {
    return reads.bits(0, query.element);
}

Result<Operand> permute_output(const OpFacts& facts) {
    const Operand& in = facts.inputs[0];
    if (facts.op.attributes.size() != in.dims.size()) return error("one axis a dimension is needed");
    std::uint32_t seen = 0;
    Operand out{in.dtype, in.dims};
    for (std::size_t i = 0; i < in.dims.size(); ++i) {
        const std::uint64_t axis = facts.op.attributes[i];
        if (axis >= in.dims.size() || (seen >> axis & 1) != 0) return error("the axes are no permutation");
        seen |= 1u << axis;
        out.dims[i] = in.dims[axis];
    }
    return out;
}

std::uint32_t permute_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const Index at = unravel(facts.output.dims, query.element);
    Index from{};
    for (std::size_t i = 0; i < facts.output.dims.size(); ++i) from[facts.op.attributes[i]] = at[i];
    return reads.bits(0, ravel(facts.inputs[0].dims, from));
}

// Attributes: the first index of every axis, then the extent of every axis.
Result<Operand> slice_output(const OpFacts& facts) {
    const Operand& in = facts.inputs[0];
    const std::size_t rank = in.dims.size();
    if (facts.op.attributes.size() != 2 * rank) return error("a start and an extent per axis are needed");
    Operand out{in.dtype, in.dims};
    for (std::size_t i = 0; i < rank; ++i) {
        const std::uint64_t start = facts.op.attributes[i], extent = facts.op.attributes[rank + i];
        if (start > in.dims[i] || extent > in.dims[i] - start) return error("the slice leaves the tensor");
        out.dims[i] = extent;
    }
    return out;
}

std::uint32_t slice_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    Index at = unravel(facts.output.dims, query.element);
    for (std::size_t i = 0; i < facts.output.dims.size(); ++i) at[i] += facts.op.attributes[i];
    return reads.bits(0, ravel(facts.inputs[0].dims, at));
}

Result<Operand> concat_output(const OpFacts& facts) {
    const std::uint64_t axis = facts.op.attributes[0];
    Operand out = facts.inputs[0];
    if (axis >= out.dims.size()) return error("no such axis");
    std::uint64_t extent = 0;
    for (const Operand& in : facts.inputs) {
        if (in.dtype != out.dtype || in.dims.size() != out.dims.size()) return error("inputs of another dtype or rank");
        for (std::size_t i = 0; i < out.dims.size(); ++i) {
            if (i != axis && in.dims[i] != out.dims[i]) return error("extents differ beside the axis");
        }
        extent += in.dims[axis];
    }
    out.dims[axis] = extent;
    return out;
}

std::uint32_t concat_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t axis = facts.op.attributes[0];
    Index at = unravel(facts.output.dims, query.element);
    std::uint32_t slot = 0;
    while (at[axis] >= facts.inputs[slot].dims[axis]) at[axis] -= facts.inputs[slot++].dims[axis];
    return reads.bits(slot, ravel(facts.inputs[slot].dims, at));
}

// Attributes: elements before every axis, elements after every axis, the bits of the padding.
Result<Operand> pad_output(const OpFacts& facts) {
    const Operand& in = facts.inputs[0];
    const std::size_t rank = in.dims.size();
    if (facts.op.attributes.size() != 2 * rank + 1) return error("two paddings per axis and a value are needed");
    RETRACE_CHECK(check_bits(in.dtype, facts.op.attributes.back()));
    Operand out{in.dtype, in.dims};
    for (std::size_t i = 0; i < rank; ++i) {
        const std::uint64_t before = facts.op.attributes[i], after = facts.op.attributes[rank + i];
        if (before > kElementsMax || after > kElementsMax) return error("the padding is too wide");
        out.dims[i] += before + after;
    }
    return out;
}

std::uint32_t pad_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    Index at = unravel(facts.output.dims, query.element);
    const Dims& dims = facts.inputs[0].dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (at[i] < facts.op.attributes[i] || at[i] - facts.op.attributes[i] >= dims[i]) {
            return static_cast<std::uint32_t>(facts.op.attributes.back());
        }
        at[i] -= facts.op.attributes[i];
    }
    return reads.bits(0, ravel(dims, at));
}

constexpr std::array kRules = {
    OpRule{OpCode::reshape, "reshape", 1, 1, 0, 0, false, reshape_output, cost_of_output, nullptr, reshape_element},
    OpRule{OpCode::permute, "permute", 1, 1, 0, kRankMax, false, permute_output, cost_of_output, nullptr,
           permute_element},
    OpRule{OpCode::slice, "slice", 1, 1, 0, 2 * kRankMax, false, slice_output, cost_of_output, nullptr, slice_element},
    OpRule{OpCode::concat, "concat", 1, kInputsMax, 1, 1, false, concat_output, cost_of_output, nullptr,
           concat_element},
    OpRule{OpCode::pad, "pad", 1, 1, 1, 2 * kRankMax + 1, false, pad_output, cost_of_output, nullptr, pad_element},
};

}  // namespace

std::span<const OpRule> movement_rules() { return kRules; }

}  // namespace retrace::kernels
