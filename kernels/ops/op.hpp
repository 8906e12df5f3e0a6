// SPDX-License-Identifier: MIT
// The definition of one op kind: counts, shape rule, cost rule, links and the element rule (kernels/ops/element.hpp
// runs them). One file per family defines them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/ops/element.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

/// The element rules' view of their inputs: a missing element reads as zero bits and is remembered, so that a rule
/// needs no error handling and `evaluate` reports it once.
class Reads {
public:
    explicit Reads(ElementSource& source) noexcept : source_(source) {}
    std::uint32_t bits(std::uint32_t slot, std::uint64_t element) {
        const std::optional<std::uint32_t> found = source_.read(slot, element);
        missing_ |= !found.has_value();
        return found.value_or(0);
    }
    float f32(std::uint32_t slot, std::uint64_t element) { return from_bits(bits(slot, element)); }
    std::int32_t i32(std::uint32_t slot, std::uint64_t element) {
        return static_cast<std::int32_t>(bits(slot, element));
    }
    bool missing() const noexcept { return missing_; }

private:
    ElementSource& source_;
    bool missing_ = false;
};

struct OpRule {
    OpCode code;
    std::string_view name;
    std::uint32_t inputs_min, inputs_max;
    std::uint32_t attributes_min, attributes_max;
    bool has_stream;
    /// Checks dtypes, extents and attributes, and returns the output. Ops whose extents are free (elementwise
    /// broadcasting, reshape, generators) check `facts.output` and return it.
    Result<OpFacts::Operand> (*output)(const OpFacts& facts);
    std::uint64_t (*cost)(const OpFacts& facts);   ///< Multiply-adds, saturating.
    std::uint64_t (*links)(const OpFacts& facts);  ///< Null if the op is not a chain.
    std::uint32_t (*element)(const OpFacts& facts, const ElementQuery& query, Reads& reads);
};

/// Null for an unknown code.
const OpRule* find_rule(OpCode code);
/// All rules, by ascending code.
std::span<const OpRule> all_rules();

// The families: each is a list of rules defined in the file of that name.
std::span<const OpRule> matmul_rules();
std::span<const OpRule> elementwise_rules();
std::span<const OpRule> reduce_rules();
std::span<const OpRule> places_rules();
std::span<const OpRule> rows_rules();
std::span<const OpRule> movement_rules();
std::span<const OpRule> window_rules();
std::span<const OpRule> generate_rules();

/// Whether element n of the output depends on one element of each operand, found by broadcasting.
inline bool is_elementwise(OpCode code) noexcept { return code >= OpCode::neg && code <= OpCode::select; }

/// Whether the op copies its first operand but for some elements, each of which depends on no other element of it: the
/// output may then be the operand's own memory.
inline bool updates_first_operand(OpCode code) noexcept {
    return code == OpCode::row_add_at || code == OpCode::put_rows;
}

// Shared by shape and cost rules.
inline std::uint64_t elements_of(const OpFacts::Operand& operand) { return geometry(operand.dims).elements(); }
inline std::uint64_t cost_of_output(const OpFacts& facts) { return elements_of(facts.output); }
/// Checks that `bits` (zero-extended) are a valid element of the dtype.
Status<> check_bits(DType dtype, std::uint64_t bits);
/// Returns text such as "8x128" for messages.
std::string shape_text(const Dims& dims);

}  // namespace retrace::kernels
