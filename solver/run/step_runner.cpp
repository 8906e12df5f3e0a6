// SPDX-License-Identifier: MIT
#include "solver/run/step_runner.hpp"

#include <exception>

namespace retrace::solver {

std::unique_ptr<Training> StepRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool) {
    return std::make_unique<HostTraining>(*this, program, state, pool);
}

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                             kernels::Backend backend)
    : program_(program), pool_(pool), inputs_(std::move(inputs)), executor_(program, pool, backend) {}

ProgramRunner::ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                             std::unique_ptr<kernels::ExternalBackend> device)
    : program_(program),
      pool_(pool),
      inputs_(std::move(inputs)),
      executor_(program, pool),
      device_(std::move(device)) {}

std::optional<std::vector<kernels::Metric>> ProgramRunner::attempt(kernels::State& state,
                                                                   const kernels::StopToken& stop) {
    ensure(!use_.busy, "a device trains one state at a time");
    kernels::ExternalBackend* const device = device_in_use();
    if (device == nullptr) return executor_.attempt(state, inputs_, stop);
    try {
        device->load(state, inputs_);
        std::vector<kernels::Metric> metrics = device->advance();
        device->store(state);
        return metrics;
    } catch (const std::exception&) {
        use_.failed = true;
        throw;
    }
}

std::vector<Hash32> ProgramRunner::trace(const kernels::State& state) { return executor_.trace(state, inputs_); }

std::vector<kernels::Tensor> ProgramRunner::outputs(const kernels::State& state,
                                                    const std::vector<std::uint32_t>& ops) {
    return executor_.outputs(state, inputs_, ops);
}

std::unique_ptr<Training> ProgramRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                               kernels::ThreadPool& pool) {
    ensure(!use_.busy, "a device trains one state at a time");
    kernels::ExternalBackend* const device = device_in_use();
    if (device == nullptr) return StepRunner::train(program, state, pool);
    return std::make_unique<DeviceTraining>(*device, inputs_, program.root(), state, use_);
}

kernels::State blank_state(const kernels::Program& program) {
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        state.tensors.push_back(kernels::zeros(program.tensors[i].dtype, program.tensors[i].dims));
    }
    return state;
}

}  // namespace retrace::solver
