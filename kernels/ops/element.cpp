// SPDX-License-Identifier: MIT
#include "kernels/ops/element.hpp"

#include <algorithm>

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"
#include "kernels/scalar/float_environment.hpp"

namespace retrace::kernels {
namespace {

/// Forwards reads and records their tiles.
class TileNotes final : public ElementSource {
public:
    TileNotes(const OpFacts& facts, ElementSource& inputs) : inputs_(inputs) {
        for (const OpFacts::Operand& operand : facts.inputs) shapes_.push_back(geometry(operand.dims));
    }
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        tiles.insert({slot, shapes_[slot].tile_of(element)});
        return inputs_.read(slot, element);
    }
    std::set<TileRef> tiles;

private:
    ElementSource& inputs_;
    std::vector<Geometry> shapes_;
};

Status<> check_operand(const std::string& what, const OpFacts::Operand& operand) {
    if (!is_dtype(operand.dtype)) return error(what + ": unknown dtype");
    if (const auto dims = check_dims(operand.dims); !dims) return error(what + ": " + dims.error().message);
    return Unit{};
}

std::string count_text(std::uint32_t low, std::uint32_t high, std::size_t found, const char* what) {
    return "takes " + std::to_string(low) + (low == high ? "" : " to " + std::to_string(high)) + " " + what + ", not " +
           std::to_string(found);
}

}  // namespace

const OpRule* find_rule(OpCode code) {
    const std::span<const OpRule> rules = all_rules();
    const auto found = std::lower_bound(rules.begin(), rules.end(), code,
                                        [](const OpRule& rule, OpCode wanted) { return rule.code < wanted; });
    return found != rules.end() && found->code == code ? &*found : nullptr;
}

std::span<const OpRule> all_rules() {
    static const std::vector<OpRule> rules = [] {
        std::vector<OpRule> all;
        for (const auto family : {matmul_rules(), elementwise_rules(), reduce_rules(), places_rules(), rows_rules(),
                                  movement_rules(), window_rules(), generate_rules()}) {
            all.insert(all.end(), family.begin(), family.end());
        }
        std::sort(all.begin(), all.end(), [](const OpRule& a, const OpRule& b) { return a.code < b.code; });
        return all;
    }();
    return rules;
}

std::string shape_text(const Dims& dims) {
    if (dims.empty()) return "scalar";
    std::string text;
    for (const std::uint64_t extent : dims) text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text;
}

Status<> check_bits(DType dtype, std::uint64_t bits) {
    const std::uint64_t limit = dtype == DType::boolean ? 1 : size_of(dtype) == 1 ? 0xff : 0xffffffff;
    if (bits > limit) return error("the value is no bits of the dtype");
    return Unit{};
}

OpFacts facts_of(const Program& program, std::uint32_t op) {
    OpFacts facts;
    facts.op = program.ops[op];
    for (const std::uint32_t input : facts.op.inputs) {
        facts.inputs.push_back({program.tensors[input].dtype, program.tensors[input].dims});
    }
    const TensorRecord& output = program.tensors[program.output_of(op)];
    facts.output = {output.dtype, output.dims};
    return facts;
}

Status<> check_facts(const OpFacts& facts) {
    const OpRule* rule = find_rule(facts.op.code);
    if (rule == nullptr) return error("unknown op code");
    const std::size_t inputs = facts.inputs.size(), attributes = facts.op.attributes.size();
    if (inputs != facts.op.inputs.size()) return error("the operands do not match the op record");
    if (inputs < rule->inputs_min || inputs > rule->inputs_max) {
        return error(count_text(rule->inputs_min, rule->inputs_max, inputs, "inputs"));
    }
    if (attributes < rule->attributes_min || attributes > rule->attributes_max) {
        return error(count_text(rule->attributes_min, rule->attributes_max, attributes, "attributes"));
    }
    if (facts.op.stream.size() > kNameMax) return error("stream name too long");
    if (!rule->has_stream && !facts.op.stream.empty()) return error("has no random stream");
    for (std::size_t i = 0; i < inputs; ++i)
        RETRACE_CHECK(check_operand("input " + std::to_string(i), facts.inputs[i]));
    RETRACE_CHECK(check_operand("output", facts.output));
    RETRACE_TRY(expected, rule->output(facts));
    if (facts.output.dtype != expected.dtype) return error("the output has the wrong dtype");
    if (facts.output.dims != expected.dims) {
        return error("the output is " + shape_text(facts.output.dims) + ", not " + shape_text(expected.dims));
    }
    return Unit{};
}

std::uint64_t link_count(const OpFacts& facts) {
    const OpRule* rule = find_rule(facts.op.code);
    ensure(rule != nullptr, "a checked op");
    return rule->links == nullptr ? 1 : rule->links(facts);
}

Result<std::uint32_t, EvalError> evaluate(const OpFacts& facts, const ElementQuery& query, ElementSource& source) {
    const OpRule* rule = find_rule(facts.op.code);
    ensure(rule != nullptr, "a checked op");
    if (query.element >= elements_of(facts.output) || query.link >= link_count(facts)) {
        return Unexpected{EvalError::out_of_range};
    }
    const FloatEnvironment contract;
    Reads reads(source);
    const std::uint32_t bits = rule->element(facts, query, reads);
    if (reads.missing()) return Unexpected{EvalError::missing_input};
    return bits;
}

std::set<TileRef> inputs_of(const OpFacts& facts, const ElementQuery& query, ElementSource& full_inputs) {
    TileNotes notes(facts, full_inputs);
    ensure(evaluate(facts, query, notes).has_value(), "full inputs and an element of the output");
    return std::move(notes.tiles);
}

}  // namespace retrace::kernels
