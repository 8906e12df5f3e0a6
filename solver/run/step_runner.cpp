// SPDX-License-Identifier: MIT
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs,
                             kernels::ThreadPool& pool, kernels::Backend backend)
    : program_(program), pool_(pool), inputs_(std::move(inputs)), executor_(program, pool, backend) {}

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs,
                             kernels::ThreadPool& pool, std::unique_ptr<kernels::ExternalBackend> device)
    : program_(program), pool_(pool), inputs_(std::move(inputs)), executor_(program, pool, std::move(device)) {}

std::vector<kernels::Metric> ProgramRunner::step(kernels::State& state) {
    return executor_.step(state, inputs_);
}

std::vector<Hash32> ProgramRunner::trace(const kernels::State& state) {
    return executor_.trace(state, inputs_);
}

std::vector<kernels::Tensor> ProgramRunner::outputs(const kernels::State& state,
                                                    const std::vector<std::uint32_t>& ops) {
    return executor_.outputs(state, inputs_, ops);
}

kernels::State blank_state(const kernels::Program& program) {
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        state.tensors.push_back(kernels::zeros(program.tensors[i].dtype, program.tensors[i].dims));
    }
    return state;
}

}  // namespace retrace::solver
