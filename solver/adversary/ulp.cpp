// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "kernels/ops/opcode.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/adversary/frauds.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;
using kernels::State;
using kernels::Tensor;

/// The next float away from zero: a normal number stays one, so no epilogue would have made another of it.
void nudge(Tensor& tensor, std::uint64_t element) {
    std::uint8_t* at = tensor.data.data() + 4 * element;
    store_u32(at, load_u32(at) + 1);
}

bool can_nudge(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    return exponent > 0 && exponent < 254;
}

constexpr std::size_t kElementsTried = 8;

/// Matrix products from the last to the first, then all other ops in the same order.
std::vector<std::uint32_t> candidates(const kernels::Program& program) {
    std::vector<std::uint32_t> ops;
    for (std::uint32_t i = static_cast<std::uint32_t>(program.ops.size()); i-- > 0;) {
        if (program.tensors[program.output_of(i)].dtype == DType::f32) ops.push_back(i);
    }
    std::stable_partition(ops.begin(), ops.end(),
                          [&](std::uint32_t op) { return program.ops[op].code == kernels::OpCode::matmul; });
    return ops;
}

}  // namespace

UlpRunner::UlpRunner(std::uint64_t step, const kernels::Program& program, kernels::Inputs inputs,
                     kernels::ThreadPool& pool)
    : ProgramRunner(program, std::move(inputs), pool), step_(step) {}

bool UlpRunner::try_target(const Target& target, const State& before, const State& honest) {
    executor().set_tamper([step = step_, target](std::uint64_t at, std::uint32_t op, Tensor& output) {
        if (at == step && op == target.op) nudge(output, target.element);
    });
    State state = before;
    ProgramRunner::step(state);
    return state != honest;
}

void UlpRunner::aim(const State& state) {
    if (aimed_ || state.step != step_) return;
    State honest = state;
    ProgramRunner::step(honest);
    for (const std::uint32_t op : candidates(program())) {
        executor().set_tamper({});
        const Tensor output = ProgramRunner::outputs(state, {op}).front();
        std::size_t tried = 0;
        for (std::uint64_t element = 0; element < output.elements() && tried < kElementsTried; ++element) {
            if (!can_nudge(output.bits(element))) continue;
            ++tried;
            aimed_ = try_target({op, element}, state, honest);
            if (aimed_) return;
        }
    }
    executor().set_tamper({});  // Every nudge is rounded away: nothing to falsify.
    aimed_ = true;
}

std::vector<kernels::Metric> UlpRunner::step(State& state) {
    aim(state);
    return ProgramRunner::step(state);
}

std::vector<Hash32> UlpRunner::trace(const State& state) {
    aim(state);
    return ProgramRunner::trace(state);
}

std::vector<Tensor> UlpRunner::outputs(const State& state, const std::vector<std::uint32_t>& ops) {
    aim(state);
    return ProgramRunner::outputs(state, ops);
}

}  // namespace retrace::solver
