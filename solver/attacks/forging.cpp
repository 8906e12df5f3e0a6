// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/commit/commitment.hpp"
#include "solver/attacks/compute_attacks.hpp"

namespace retrace::solver {

using kernels::State;
using kernels::Tensor;

std::optional<std::vector<kernels::Metric>> ForgingRunner::attempt(State& state, const kernels::StopToken& stop) {
    std::optional<std::vector<Tensor>> tensors = forged(state);
    if (!tensors) return ProgramRunner::attempt(state, stop);
    state.tensors = std::move(*tensors);
    ++state.step;
    return std::vector<kernels::Metric>();
}

std::vector<Hash32> ForgingRunner::trace(const State& state) {
    std::vector<Hash32> roots = ProgramRunner::trace(state);
    const std::optional<std::vector<Tensor>> tensors = forged(state);
    if (!tensors) return roots;
    for (std::uint32_t i = 0; i < program().states; ++i) {
        const std::uint32_t writer = program().tensors[i].writer;
        if (writer != kernels::kNoWriter) roots[writer] = kernels::tensor_root((*tensors)[i], pool());
    }
    return roots;
}

std::vector<Tensor> ForgingRunner::outputs(const State& state, const std::vector<std::uint32_t>& ops) {
    std::vector<Tensor> outputs = ProgramRunner::outputs(state, ops);
    const std::optional<std::vector<Tensor>> tensors = forged(state);
    if (!tensors) return outputs;
    for (std::uint32_t i = 0; i < program().states; ++i) {
        const auto at = std::find(ops.begin(), ops.end(), program().tensors[i].writer);
        if (at != ops.end()) outputs[static_cast<std::size_t>(at - ops.begin())] = (*tensors)[i];
    }
    return outputs;
}

}  // namespace retrace::solver
