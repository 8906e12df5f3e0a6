// SPDX-License-Identifier: MIT
// The referee's evaluation of an op: facts, element numbers and evidence all come from a hostile party. Facts that pass
// the shape rule can be evaluated at any element, with bounded time and evidence.
#include "kernels/ops/element.hpp"

#include "kernels/ops/op.hpp"
#include "kernels/program/limits.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace kernels;

/// Elements whose bits depend on their position; some are missing.
class Source final : public ElementSource {
public:
    Source(const OpFacts& facts, std::uint32_t salt, bool complete) : facts_(facts), salt_(salt), complete_(complete) {}

    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        require(slot < facts_.inputs.size(), "a rule reads only the inputs that there are");
        const OpFacts::Operand& operand = facts_.inputs[slot];
        require(element < geometry(operand.dims).elements(), "a rule reads only inside its inputs");
        ++reads;
        const auto bits = static_cast<std::uint32_t>(element * 0x9e3779b1u + slot * 0x85ebca6bu) ^ salt_;
        if (!complete_ && bits % 7 == 0) return std::nullopt;
        switch (operand.dtype) {
            case DType::f32: return bits;
            case DType::i32: return salt_ % 2 == 0 ? bits % 16 : bits;
            case DType::boolean: return bits & 1;
            default: return bits & 0xff;
        }
    }

    std::uint64_t reads = 0;

private:
    const OpFacts& facts_;
    std::uint32_t salt_;
    bool complete_;
};

std::uint64_t extent(Choices& choices) {
    static constexpr std::uint64_t kEdges[] = {0, 1, 1ull << 20, 1ull << 35, 1ull << 36, 1ull << 63, ~0ull};
    const std::uint8_t pick = choices.byte();
    return pick >= 250 ? kEdges[pick - 249] : pick % 67;
}

OpFacts::Operand pick_operand(Choices& choices) {
    static constexpr DType kTypes[] = {DType::f32, DType::f32, DType::i32, DType::u8, DType::i8, DType::boolean};
    OpFacts::Operand out{kTypes[choices.below(std::size(kTypes))], {}};
    for (std::size_t rank = choices.between(0, 5); rank > 0; --rank) out.dims.push_back(extent(choices));
    return out;
}

OpFacts pick_facts(Choices& choices) {
    const auto rules = all_rules();
    const OpRule& rule = rules[choices.below(rules.size())];
    OpFacts facts;
    facts.op.code = rule.code;
    const std::size_t inputs = choices.between(rule.inputs_min, std::min(rule.inputs_max, rule.inputs_min + 2));
    for (std::uint32_t i = 0; i < inputs; ++i) {
        facts.op.inputs.push_back(i);
        facts.inputs.push_back(i > 0 && choices.flip() ? facts.inputs.front() : pick_operand(choices));
    }
    const std::size_t attributes =
        choices.between(rule.attributes_min, std::min(rule.attributes_max, rule.attributes_min + 8));
    for (std::size_t i = 0; i < attributes; ++i)
        facts.op.attributes.push_back(choices.below(8) == 0 ? choices.number() : choices.below(9));
    if (rule.has_stream) facts.op.stream = "s";
    // Half of the time, uses the output that the rule requires, so that many facts pass.
    facts.output = choices.flip() || facts.inputs.empty() ? pick_operand(choices) : facts.inputs.front();
    for (const OpFacts::Operand& operand : facts.inputs)
        if (!check_dims(operand.dims)) return facts;
    if (!check_dims(facts.output.dims)) return facts;
    if (const auto wanted = rule.output(facts); wanted && choices.below(8) != 0) facts.output = *wanted;
    return facts;
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    const std::size_t rules = all_rules().size();
    for (std::size_t i = 0; i < 8 * rules; ++i)
        out.push_back(random_choices(static_cast<std::uint8_t>(i % rules), i, 90));
    return out;
}

void run(View input) {
    Choices choices(input);
    const OpFacts facts = pick_facts(choices);
    if (!check_facts(facts)) return;
    const std::uint64_t elements = geometry(facts.output.dims).elements(), links = link_count(facts);
    require(links >= 1, "every element has a link");
    ElementQuery query;
    query.element = choices.flip() && elements > 0 ? choices.number() % elements : choices.number();
    query.link = choices.flip() ? choices.number() % links : choices.number();
    query.before = static_cast<std::uint32_t>(choices.number());
    query.seed = choices.number();
    query.step = choices.number();
    Source source(facts, choices.byte(), choices.flip());
    const auto bits = evaluate(facts, query, source);
    const bool inside = query.element < elements && query.link < links;
    require(inside || !bits, "there is no element outside");
    require(source.reads <= 4096, "one link reads little");
    if (!bits) return;
    Source complete(facts, 3, true);
    require(inputs_of(facts, query, complete).size() <= kEvidenceTilesMax, "evidence is bounded");
    if (facts.output.dtype == DType::boolean) require(query.link + 1 < links || *bits <= 1, "a bool is 0 or 1");
}

}  // namespace retrace::fuzz
