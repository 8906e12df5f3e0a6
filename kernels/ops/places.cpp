// SPDX-License-Identifier: MIT
// Places within rows (SPEC 9): the greatest elements of a row, values at places, and additions at places.
#include "kernels/ops/places.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;

Result<Operand> top_output(const OpFacts& facts) {
    const Operand& x = facts.inputs[0];
    const std::uint64_t count = facts.op.attributes[0];
    if (x.dtype != DType::f32) return error("takes fp32");
    if (x.dims.empty()) return error("takes a rank of at least 1");
    if (x.dims.back() == 0 || x.dims.back() > kTopColumnsMax) return error("takes rows of 1 to 512 elements");
    if (count == 0 || count > x.dims.back()) return error("takes 1 place to as many as a row has elements");
    Operand out{DType::i32, x.dims};
    out.dims.back() = count;
    return out;
}

std::uint64_t top_cost(const OpFacts& facts) { return elements_of(facts.inputs[0]); }

std::uint32_t top_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t cols = facts.inputs[0].dims.back(), count = facts.op.attributes[0];
    const std::uint64_t first = query.element / count * cols;
    std::array<std::uint32_t, kTopColumnsMax> keys, places;
    for (std::uint64_t i = 0; i < cols; ++i) keys[i] = magnitude_key(reads.bits(0, first + i));
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(cols);
    const auto chosen = places.begin() + static_cast<std::ptrdiff_t>(count);
    std::iota(places.begin(), end, 0u);
    std::sort(places.begin(), end,
              [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
    std::sort(places.begin(), chosen);
    return places[query.element % count];
}

/// Checks that `places` are int32 and have the rows of `values`.
Status<> check_places(const Operand& values, const Operand& places) {
    if (values.dims.empty()) return error("takes a rank of at least 1");
    if (places.dtype != DType::i32) return error("the places are not int32");
    if (places.dims.size() != values.dims.size() ||
        !std::equal(values.dims.begin(), values.dims.end() - 1, places.dims.begin())) {
        return error("the places have other rows than the values");
    }
    return Unit{};
}

Result<Operand> pick_output(const OpFacts& facts) {
    RETRACE_CHECK(check_places(facts.inputs[0], facts.inputs[1]));
    return Operand{facts.inputs[0].dtype, facts.inputs[1].dims};
}

std::uint32_t pick_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t cols = facts.inputs[0].dims.back(), row = query.element / facts.output.dims.back();
    const std::int32_t place = reads.i32(1, query.element);
    if (place < 0 || static_cast<std::uint64_t>(place) >= cols) return 0;
    return reads.bits(0, row * cols + static_cast<std::uint64_t>(place));
}

Result<Operand> add_at_output(const OpFacts& facts) {
    const Operand &base = facts.inputs[0], &places = facts.inputs[1], &values = facts.inputs[2];
    if (base.dtype != DType::f32 || values.dtype != DType::f32) return error("the base and the values are not fp32");
    RETRACE_CHECK(check_places(base, places));
    if (values.dims != places.dims) return error("one value a place is needed");
    if (places.dims.back() > kAddPlacesMax) return error("takes at most 512 places a row");
    return base;
}

std::uint64_t add_at_cost(const OpFacts& facts) {
    return saturating_add(elements_of(facts.output), elements_of(facts.inputs[1]));
}

/// Reads no place after the one that names the element, and no value but its own.
std::uint32_t add_at_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    const std::uint64_t cols = facts.output.dims.back(), count = facts.inputs[1].dims.back();
    const std::uint64_t row = query.element / cols, col = query.element % cols;
    for (std::uint64_t i = row * count; i < (row + 1) * count; ++i) {
        const std::int32_t place = reads.i32(1, i);
        if (place < 0 || static_cast<std::uint64_t>(place) != col) continue;
        return to_bits(finish(reads.f32(0, query.element) + reads.f32(2, i)));
    }
    return reads.bits(0, query.element);
}

constexpr std::array kRules = {
    OpRule{OpCode::row_top, "row_top", 1, 1, 1, 1, false, top_output, top_cost, nullptr, top_element},
    OpRule{OpCode::row_pick, "row_pick", 2, 2, 0, 0, false, pick_output, cost_of_output, nullptr, pick_element},
    OpRule{OpCode::row_add_at, "row_add_at", 3, 3, 0, 0, false, add_at_output, add_at_cost, nullptr, add_at_element},
};

}  // namespace

std::span<const OpRule> places_rules() { return kRules; }

}  // namespace retrace::kernels
