// SPDX-License-Identifier: MIT
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

std::unique_ptr<Training> StepRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool) {
    return std::make_unique<HostTraining>(*this, program, state, pool);
}

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs,
                             kernels::ThreadPool& pool, kernels::Backend backend)
    : program_(program), pool_(pool), inputs_(std::move(inputs)), executor_(program, pool, backend), on_host_(true) {}

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs,
                             kernels::ThreadPool& pool, std::unique_ptr<kernels::ExternalBackend> device)
    : program_(program),
      pool_(pool),
      inputs_(std::move(inputs)),
      executor_(program, pool, std::move(device)),
      on_host_(false) {}

std::vector<kernels::Metric> ProgramRunner::step(kernels::State& state) {
    ensure(!busy_, "a device trains one state at a time");
    return executor_.step(state, inputs_);
}

std::vector<Hash32> ProgramRunner::trace(const kernels::State& state) {
    ensure(!busy_, "a device trains one state at a time");
    return executor_.trace(state, inputs_);
}

std::vector<kernels::Tensor> ProgramRunner::outputs(const kernels::State& state,
                                                    const std::vector<std::uint32_t>& ops) {
    ensure(!busy_, "a device trains one state at a time");
    return executor_.outputs(state, inputs_, ops);
}

std::unique_ptr<Training> ProgramRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                               kernels::ThreadPool& pool) {
    kernels::ExternalBackend* const device = executor_.external();
    if (device == nullptr) return StepRunner::train(program, state, pool);
    ensure(!busy_, "a device trains one state at a time");
    return std::make_unique<DeviceTraining>(*device, inputs_, program.root(), state, busy_);
}

kernels::State blank_state(const kernels::Program& program) {
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        state.tensors.push_back(kernels::zeros(program.tensors[i].dtype, program.tensors[i].dims));
    }
    return state;
}

}  // namespace retrace::solver
