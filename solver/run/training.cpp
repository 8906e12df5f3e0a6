// SPDX-License-Identifier: MIT
#include "solver/run/training.hpp"

#include <exception>

#include "solver/run/step_runner.hpp"

namespace retrace::solver {

HostTraining::HostTraining(StepRunner& runner, const kernels::CommittedProgram& program, kernels::State& state,
                           kernels::ThreadPool& pool)
    : runner_(runner), state_(state), pool_(pool), program_(program), committer_(program.program(), program.root()) {}

std::vector<kernels::Metric> HostTraining::advance() { return runner_.step(state_); }

std::optional<std::vector<kernels::Metric>> HostTraining::attempt(const kernels::StopToken& stop) {
    return runner_.attempt(state_, stop);
}

kernels::StateCommitment HostTraining::commit() {
    before_ = before_ ? kernels::commit_next(program_.program(), *before_, state_, pool_)
                      : kernels::commit_state(program_.root(), state_, pool_);
    return *before_;
}

template <class Work>
auto DeviceTraining::on_device(Work work) {
    try {
        return work();
    } catch (const std::exception&) {
        use_.failed = true;
        throw;
    }
}

DeviceTraining::DeviceTraining(kernels::ExternalBackend& device, const kernels::Inputs& inputs,
                               const Hash32& program_root, kernels::State& state, DeviceUse& use)
    : device_(device), program_root_(program_root), state_(state), use_(use), step_(state.step) {
    on_device([&] { device_.load(state_, inputs); });
    use_.busy = true;
}

DeviceTraining::~DeviceTraining() {
    use_.busy = false;
    if (!under_way_ || use_.failed) return;
    try {
        device_.finish_roots();
    } catch (const std::exception&) {
        use_.failed = true;  // The exception is dropped because nobody needs these roots.
    }
}

std::vector<kernels::Metric> DeviceTraining::advance() {
    ++step_;
    return on_device([&] { return device_.advance(); });
}

const kernels::State& DeviceTraining::state() {
    if (state_.step != step_) on_device([&] { device_.store(state_); });
    return state_;
}

kernels::StateCommitment DeviceTraining::commit() {
    return kernels::commit_roots(program_root_, step_, on_device([&] { return device_.roots(); }));
}

void DeviceTraining::begin_commitment() {
    on_device([&] { device_.begin_roots(); });
    committed_step_ = step_;
    under_way_ = true;
}

kernels::StateCommitment DeviceTraining::finish_commitment() {
    under_way_ = false;
    return kernels::commit_roots(program_root_, committed_step_, on_device([&] { return device_.finish_roots(); }));
}

const kernels::State& DeviceTraining::committed() {
    if (!committed_) committed_ = state_;
    if (committed_->step != committed_step_) on_device([&] { device_.store_committed(*committed_); });
    return *committed_;
}

}  // namespace retrace::solver
