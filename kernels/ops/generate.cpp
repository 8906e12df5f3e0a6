// SPDX-License-Identifier: MIT
// Generators (SPEC 8): constants, positions, the step, Philox numbers, the order of samples and ChaCha20 words. Their
// values are functions of attributes, seed and step (and, of chacha_bits, of a key), so that disputing one takes no
// evidence (but the key).
#include <algorithm>
#include <array>

#include "kernels/ops/op.hpp"
#include "kernels/random/chacha.hpp"
#include "kernels/random/philox.hpp"

namespace retrace::kernels {
namespace {

using Operand = OpFacts::Operand;
constexpr std::uint64_t kIntMax = 0x7fffffff;
constexpr std::uint64_t kChaChaOpsMax = 1 << 16;

std::uint32_t saturated(std::uint64_t value) { return static_cast<std::uint32_t>(std::min(value, kIntMax)); }

Result<Operand> fill_output(const OpFacts& facts) {
    RETRACE_CHECK(check_bits(facts.output.dtype, facts.op.attributes[0]));
    return facts.output;
}

std::uint32_t fill_element(const OpFacts& facts, const ElementQuery&, Reads&) {
    return static_cast<std::uint32_t>(facts.op.attributes[0]);
}

Result<Operand> iota_output(const OpFacts& facts) {
    const std::uint64_t axis = facts.op.attributes[0];
    if (axis >= facts.output.dims.size()) return error("no such axis");
    if (facts.output.dims[axis] > kIntMax) return error("the axis is too long for int32");
    return Operand{DType::i32, facts.output.dims};
}

std::uint32_t iota_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    const std::uint64_t axis = facts.op.attributes[0];
    std::uint64_t inner = 1;
    for (std::size_t i = axis + 1; i < facts.output.dims.size(); ++i) inner *= facts.output.dims[i];
    return static_cast<std::uint32_t>(query.element / inner % facts.output.dims[axis]);
}

Result<Operand> step_output(const OpFacts& facts) {
    if (facts.op.attributes[0] > kIntMax) return error("the offset is over 2^31-1");
    return Operand{DType::i32, {}};
}

std::uint32_t step_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    return saturated(std::min(query.step, kIntMax) + facts.op.attributes[0]);
}

Result<Operand> philox_output(const OpFacts& facts) {
    if (facts.op.stream.empty()) return error("a stream name is needed");
    return Operand{DType::f32, facts.output.dims};
}

std::uint32_t uniform_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    return to_bits(philox_uniform(stream_key(query.seed, facts.op.stream), query.element, query.step));
}

std::uint32_t normal_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    return to_bits(philox_normal(stream_key(query.seed, facts.op.stream), query.element, query.step));
}

Result<Operand> index_output(const OpFacts& facts) {
    const Dims& dims = facts.output.dims;
    if (dims.size() != 1 || dims[0] == 0 || dims[0] > kIntMax) return error("the batch is not of rank 1");
    return Operand{DType::i32, dims};
}

Result<Operand> batch_output(const OpFacts& facts) {
    const std::uint64_t samples = facts.op.attributes[0];
    if (samples == 0 || samples > kIntMax) return error("takes 1 to 2^31-1 samples");
    RETRACE_TRY(out, index_output(facts));
    if (out.dims[0] > samples) return error("the batch is larger than the data set");
    return out;
}

// An incomplete last batch is dropped: an epoch is samples / batch steps.
std::uint32_t batch_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    const std::uint64_t samples = facts.op.attributes[0], batch = facts.output.dims[0];
    const std::uint64_t steps = samples / batch;
    const std::uint64_t position = query.step % steps * batch + query.element;
    return static_cast<std::uint32_t>(
        sample_at(stream_key(query.seed, "order"), samples, query.step / steps, position));
}

std::uint32_t sequential_element(const OpFacts& facts, const ElementQuery& query, Reads&) {
    return saturated(std::min(query.step, kIntMax) * facts.output.dims[0] + query.element);
}

Result<Operand> chacha_output(const OpFacts& facts) {
    const Operand& key = facts.inputs[0];
    if (key.dtype != DType::i32 || key.dims != Dims{8}) return error("the key is not int32 of 8 elements");
    if (facts.op.attributes[0] >= kChaChaOpsMax) return error("the number is over 2^16-1");
    return Operand{DType::i32, facts.output.dims};
}

std::uint32_t chacha_element(const OpFacts& facts, const ElementQuery& query, Reads& reads) {
    ChaChaKey key;
    for (std::uint32_t i = 0; i < 8; ++i) key.word[i] = reads.bits(0, i);
    const auto number = static_cast<std::uint32_t>(facts.op.attributes[0]);
    const auto counter = static_cast<std::uint32_t>(query.element / 16);
    return chacha_block(key, counter, chacha_nonce(query.step, number)).word[query.element % 16];
}

constexpr std::array kRules = {
    OpRule{OpCode::fill, "fill", 0, 0, 1, 1, false, fill_output, cost_of_output, nullptr, fill_element},
    OpRule{OpCode::iota, "iota", 0, 0, 1, 1, false, iota_output, cost_of_output, nullptr, iota_element},
    OpRule{OpCode::step_number, "step_number", 0, 0, 1, 1, false, step_output, cost_of_output, nullptr, step_element},
    OpRule{OpCode::philox_uniform, "philox_uniform", 0, 0, 0, 0, true, philox_output, cost_of_output, nullptr,
           uniform_element},
    OpRule{OpCode::philox_normal, "philox_normal", 0, 0, 0, 0, true, philox_output, cost_of_output, nullptr,
           normal_element},
    OpRule{OpCode::batch_index, "batch_index", 0, 0, 1, 1, false, batch_output, cost_of_output, nullptr, batch_element},
    OpRule{OpCode::sequential_index, "sequential_index", 0, 0, 0, 0, false, index_output, cost_of_output, nullptr,
           sequential_element},
    OpRule{OpCode::chacha_bits, "chacha_bits", 1, 1, 1, 1, false, chacha_output, cost_of_output, nullptr,
           chacha_element},
};

}  // namespace

std::span<const OpRule> generate_rules() { return kRules; }

}  // namespace retrace::kernels
