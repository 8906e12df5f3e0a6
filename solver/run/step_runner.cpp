// SPDX-License-Identifier: MIT
#include "solver/run/step_runner.hpp"

#include <exception>

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

void ProgramRunner::leave_failed_device() {
    if (!use_.failed || on_host_) return;
    instead_.emplace(program_, pool_);
    on_host_ = true;
}

std::vector<kernels::Metric> ProgramRunner::step(kernels::State& state) {
    ensure(!use_.busy, "a device trains one state at a time");
    leave_failed_device();
    try {
        return executor().step(state, inputs_);
    } catch (const std::exception&) {
        use_.failed = true;
        throw;
    }
}

std::vector<Hash32> ProgramRunner::trace(const kernels::State& state) {
    return executor().trace(state, inputs_);
}

std::vector<kernels::Tensor> ProgramRunner::outputs(const kernels::State& state,
                                                    const std::vector<std::uint32_t>& ops) {
    return executor().outputs(state, inputs_, ops);
}

std::unique_ptr<Training> ProgramRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                               kernels::ThreadPool& pool) {
    ensure(!use_.busy, "a device trains one state at a time");
    leave_failed_device();
    kernels::ExternalBackend* const device = executor().external();
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
