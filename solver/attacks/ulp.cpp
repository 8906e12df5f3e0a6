// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "kernels/ops/opcode.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/attacks/compute_attacks.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;
using kernels::State;
using kernels::Tensor;

/// Moves an element to the next float away from zero. A normal number stays normal, so an epilogue would not flush it.
void nudge(Tensor& tensor, std::uint64_t element) {
    std::uint8_t* at = tensor.data.data() + 4 * element;
    store_u32(at, load_u32(at) + 1);
}

bool can_nudge(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> 23 & 0xff;
    return exponent > 0 && exponent < 254;
}

constexpr std::size_t kElementsTried = 8;  // Elements of one op.
constexpr std::size_t kTargetsTried = 64;
/// Bytes of the state that must differ from the honest one for a nudge to count as lasting: later steps do not round
/// it away.
constexpr std::size_t kLasting = 256;

/// Matrix products in program order (changes in early ones spread furthest), then all other ops.
std::vector<std::uint32_t> candidates(const kernels::Program& program) {
    std::vector<std::uint32_t> ops;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        if (program.tensors[program.output_of(i)].dtype == DType::f32) ops.push_back(i);
    }
    std::stable_partition(ops.begin(), ops.end(),
                          [&](std::uint32_t op) { return program.ops[op].code == kernels::OpCode::matmul; });
    return ops;
}

std::size_t difference(const State& a, const State& b) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        const Bytes& x = a.tensors[i].data;
        const Bytes& y = b.tensors[i].data;
        for (std::size_t k = 0; k < x.size(); ++k) bytes += x[k] != y[k] ? 1 : 0;
    }
    return bytes;
}

}  // namespace

UlpRunner::UlpRunner(Steps wrong, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool)
    : ProgramRunner(program, std::move(inputs), pool), wrong_(std::move(wrong)) {}

void UlpRunner::tamper_with(const Target& target) {
    executor().set_tamper([target](std::uint64_t, std::uint32_t op, Tensor& output) {
        if (op == target.op) nudge(output, target.element);
    });
}

void UlpRunner::arm(const State& state) {
    executor().set_tamper({});  // Off for honest steps, because a tamper hook makes the executor slower.
    if (!wrong_(state.step)) return;
    const auto [at, first] = targets_.try_emplace(state.step);
    if (first) at->second = aim(state);
    if (at->second)
        tamper_with(*at->second);
    else
        executor().set_tamper({});
}

std::optional<UlpRunner::Target> UlpRunner::aim(const State& before) {
    State honest = before;
    ProgramRunner::attempt(honest, {});
    std::optional<Target> best;
    std::size_t most = 0, targets = 0;
    for (const std::uint32_t op : candidates(program())) {
        executor().set_tamper({});
        const Tensor output = ProgramRunner::outputs(before, {op}).front();
        std::size_t tried = 0;
        for (std::uint64_t element = 0; element < output.elements() && tried < kElementsTried; ++element) {
            if (!can_nudge(output.bits(element))) continue;
            ++tried;
            ++targets;
            tamper_with({op, element});
            State nudged = before;
            ProgramRunner::attempt(nudged, {});
            const std::size_t bytes = difference(nudged, honest);
            if (bytes > most) {
                most = bytes;
                best = Target{op, element};
            }
            if (most >= kLasting) return best;
        }
        if (targets >= kTargetsTried && best) return best;
    }
    return best;
}

std::optional<std::vector<kernels::Metric>> UlpRunner::attempt(State& state, const kernels::StopToken& stop) {
    arm(state);
    return ProgramRunner::attempt(state, stop);
}

std::vector<Hash32> UlpRunner::trace(const State& state) {
    arm(state);
    return ProgramRunner::trace(state);
}

std::vector<Tensor> UlpRunner::outputs(const State& state, const std::vector<std::uint32_t>& ops) {
    arm(state);
    return ProgramRunner::outputs(state, ops);
}

}  // namespace retrace::solver
