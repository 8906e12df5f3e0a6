// SPDX-License-Identifier: MIT
// Computes a program whose state and activations lie on disk. Every bit is that of ProgramRunner.
#pragma once

#include "kernels/offload/offloaded_executor.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

/// Between calls it holds no tensor of a state, but for those of a caller's state that a call brings up to date.
class OffloadedRunner final : public StepRunner {
public:
    /// Errors: those of OffloadedExecutor::create; too little memory for a trace, with the bytes of the least that works.
    /// `program` (checked), the data sets and `pool` must outlive the runner.
    static Result<std::unique_ptr<OffloadedRunner>> open(const kernels::Program& program, kernels::Inputs inputs,
                                                         kernels::ThreadPool& pool,
                                                         const kernels::OffloadOptions& options);
    /// Bytes of OffloadOptions::memory with which everything runs that a party may have to compute.
    static std::uint64_t least_bytes(const kernels::Program& program, const kernels::ThreadPool& pool);

    void set_inputs(kernels::Inputs inputs) override { inputs_ = std::move(inputs); }
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::StopToken& stop) override;
    std::vector<Hash32> trace(const kernels::State& state) override { return executor_->trace(state, inputs_); }
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override {
        return executor_->outputs(state, inputs_, ops);
    }
    /// `state` has no tensors from now on until Training::state is called.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;
    /// The same from a state of step `step` whose tensors `next` returns in their order.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state, std::uint64_t step,
                                    const std::function<kernels::Tensor(std::uint32_t state)>& next);
    /// Includes what a move in a dispute takes besides two states, which a party counts with the program.
    std::uint64_t planned_bytes() const override;
    std::uint64_t disk_bytes() const override { return executor_->bytes_read() + executor_->bytes_written(); }

    kernels::OffloadedExecutor& executor() noexcept { return *executor_; }

private:
    OffloadedRunner(const kernels::Program& program, kernels::Inputs inputs,
                    std::unique_ptr<kernels::OffloadedExecutor> executor)
        : program_(program), inputs_(std::move(inputs)), executor_(std::move(executor)) {}

    const kernels::Program& program_;
    kernels::Inputs inputs_;
    std::unique_ptr<kernels::OffloadedExecutor> executor_;
};

}  // namespace retrace::solver
