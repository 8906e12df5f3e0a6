// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "kernels/cuda/executor.hpp"
#include "kernels/ops/op.hpp"
#include "tests/cuda/device/one_op.hpp"
#include "tests/cuda/device/parity.hpp"

namespace retrace::kernels::parity {
namespace {

constexpr std::uint64_t kInputs = std::uint64_t{1} << 32, kAtOnce = std::uint64_t{1} << 24;

OpFacts facts_of(OpCode code, std::uint64_t n) {
    OpFacts facts;
    facts.op = {code, {0}, {}, {}};
    facts.inputs = {{DType::f32, {n}}};
    facts.output = facts.inputs[0];
    if (code == OpCode::convert) {
        facts.op.attributes = {static_cast<std::uint64_t>(DType::i32)};
        facts.output.dtype = DType::i32;
    }
    return facts;
}

Status<> check_function(OpCode code, std::uint64_t stride, ThreadPool& pool) {
    const std::uint64_t total = (kInputs + stride - 1) / stride, n = std::min(kAtOnce, total);
    const Program program = program_of(facts_of(code, n));
    Executor cpu(program, pool, Backend::cpu);
    RETRACE_TRY(device, cuda::DeviceExecutor::create(program));
    Tensor x = zeros(DType::f32, {n});
    const State state;
    for (std::uint64_t first = 0; first < total; first += n) {
        for (std::uint64_t i = 0; i < n; ++i) {
            store_u32(x.data.data() + 4 * i, static_cast<std::uint32_t>((first + i) * stride));
        }
        const Inputs inputs{0, {&x}};
        RETRACE_CHECK(device->load(state, inputs));
        RETRACE_TRY(found, device->outputs({0}));
        const Tensor expected = cpu.output(state, inputs, 0);
        if (found.front() == expected) continue;
        for (std::uint64_t i = 0; i < n; ++i) {
            if (found.front().bits(i) == expected.bits(i)) continue;
            return error("input " + std::to_string(x.bits(i)) + " gives " + std::to_string(found.front().bits(i)) +
                         ", not " + std::to_string(expected.bits(i)));
        }
    }
    return retrace::Unit{};
}

}  // namespace

void check_functions(std::uint64_t stride, ThreadPool& pool, Tally& tally) {
    for (const OpRule& rule : all_rules()) {
        const bool unary = rule.code >= OpCode::neg && rule.code <= OpCode::convert;
        if (unary) tally.count(std::string(rule.name), check_function(rule.code, stride, pool));
    }
}

}  // namespace retrace::kernels::parity
