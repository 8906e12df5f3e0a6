// SPDX-License-Identifier: MIT
#include "solver/run/offloaded_runner.hpp"

#include <algorithm>

#include "kernels/commit/commitment.hpp"
#include "kernels/exec/dispute_memory.hpp"

namespace retrace::solver {
namespace {

/// A training whose state the executor has.
class OffloadedTraining final : public Training {
public:
    OffloadedTraining(kernels::OffloadedExecutor& executor, const Hash32& program_root, kernels::State& state,
                      std::uint64_t step)
        : executor_(executor), program_root_(program_root), state_(state), step_(step) {
        state_.tensors.clear();
    }

    std::uint64_t step() const noexcept override { return step_; }
    std::vector<kernels::Metric> advance() override { return *attempt({}); }
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) override {
        auto metrics = executor_.attempt(stop);
        if (metrics) ++step_;
        return metrics;
    }
    const kernels::State& state() override {
        if (state_.tensors.empty() || state_.step != step_) executor_.store(state_);
        return state_;
    }
    kernels::StateCommitment commit() override {
        return kernels::commit_roots(program_root_, step_, executor_.roots());
    }
    void begin_commitment() override {
        executor_.begin_roots();
        committed_step_ = step_;
        under_way_ = true;
    }
    bool commitment_under_way() const noexcept override { return under_way_; }
    kernels::StateCommitment finish_commitment() override {
        under_way_ = false;
        return kernels::commit_roots(program_root_, committed_step_, executor_.finish_roots());
    }
    const kernels::State& committed() override {
        executor_.store_committed(committed_);
        return committed_;
    }

private:
    kernels::OffloadedExecutor& executor_;
    const Hash32 program_root_;
    kernels::State& state_;
    kernels::State committed_;
    std::uint64_t step_, committed_step_ = 0;
    bool under_way_ = false;
};

}  // namespace

Result<std::unique_ptr<OffloadedRunner>> OffloadedRunner::open(const kernels::Program& program, kernels::Inputs inputs,
                                                               kernels::ThreadPool& pool,
                                                               const kernels::OffloadOptions& options) {
    if (const std::uint64_t least = least_bytes(program, pool); options.memory < least)
        return error("offloading within " + std::to_string(options.memory) + " bytes of memory: this program needs " +
                     std::to_string(least) + " at least (memory)");
    RETRACE_TRY(executor, kernels::OffloadedExecutor::create(program, pool, options));
    return std::unique_ptr<OffloadedRunner>(new OffloadedRunner(program, std::move(inputs), std::move(executor)));
}

std::uint64_t OffloadedRunner::least_bytes(const kernels::Program& program, const kernels::ThreadPool& pool) {
    const kernels::OffloadMemory memory = kernels::OffloadedExecutor::memory_of(program, pool);
    return std::max(memory.least, memory.traces);
}

std::optional<std::vector<kernels::Metric>> OffloadedRunner::attempt(kernels::State& state,
                                                                     const kernels::StopToken& stop) {
    executor_->load(state, inputs_);
    state.tensors.clear();
    auto metrics = executor_->attempt(stop);
    if (metrics) executor_->store(state);
    return metrics;
}

std::unique_ptr<Training> OffloadedRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                                 kernels::ThreadPool&) {
    executor_->load(state, inputs_);
    return std::make_unique<OffloadedTraining>(*executor_, program.root(), state, state.step);
}

std::unique_ptr<Training> OffloadedRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                                 std::uint64_t step,
                                                 const std::function<kernels::Tensor(std::uint32_t state)>& next) {
    executor_->begin(step, inputs_);
    for (std::uint32_t s = 0; s < program_.states; ++s) executor_->put(s, next(s));
    return std::make_unique<OffloadedTraining>(*executor_, program.root(), state, step);
}

std::uint64_t OffloadedRunner::planned_bytes() const {
    return executor_->planned_bytes() + kernels::move_memory_bytes(program_);
}

}  // namespace retrace::solver
