// SPDX-License-Identifier: MIT
// How a party computes steps. An honest party asks an executor; the frauds of solver/adversary put themselves
// in between, so that trainer, replay and the players of a dispute need not know of them.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/training.hpp"

namespace retrace::solver {

class StepRunner {
public:
    virtual ~StepRunner() = default;
    /// State of step t becomes that of step t + 1; returns the program's metrics.
    virtual std::vector<kernels::Metric> step(kernels::State& state) = 0;
    /// Output roots of all ops of the step that starts from `state`.
    virtual std::vector<Hash32> trace(const kernels::State& state) = 0;
    /// Outputs of `ops` (ascending) in the step that starts from `state`.
    virtual std::vector<kernels::Tensor> outputs(const kernels::State& state,
                                                 const std::vector<std::uint32_t>& ops) = 0;
    /// Trains `state` from its step on. `program` is what the commitments name. Everything outlives the training, and
    /// nothing else is asked of the runner meanwhile.
    virtual std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool);
    /// Memory of this machine that a step or a move in a dispute takes beside the state, whichever takes more; what is
    /// taken of a device's is not counted.
    virtual std::uint64_t planned_bytes() const { return 0; }
};

/// The program as it is, on the inputs that it is given.
class ProgramRunner : public StepRunner {
public:
    /// `program` (checked), the data sets and `pool` outlive the runner.
    ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                  kernels::Backend backend = kernels::Backend::cpu);
    /// On `device`, made for this very program (solver/run/device.hpp). When it fails that is thrown, and everything
    /// after it is computed on the host, with the same bits. Traces and outputs always are.
    ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                  std::unique_ptr<kernels::ExternalBackend> device);

    std::vector<kernels::Metric> step(kernels::State& state) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state,
                                         const std::vector<std::uint32_t>& ops) override;
    /// On the runner's device, where it has one.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;

    std::uint64_t planned_bytes() const override {
        const kernels::Executor& used = instead_ ? *instead_ : executor_;
        return std::max(used.dispute_bytes(), on_host_ ? used.planned_bytes() : 0);
    }

    const kernels::Program& program() const noexcept { return program_; }
    kernels::ThreadPool& pool() noexcept { return pool_; }

protected:
    kernels::Executor& executor() noexcept { return instead_ ? *instead_ : executor_; }

private:
    void leave_failed_device();

    const kernels::Program& program_;
    kernels::ThreadPool& pool_;
    kernels::Inputs inputs_;
    kernels::Executor executor_;
    bool on_host_;
    DeviceUse use_;
    std::optional<kernels::Executor> instead_;  ///< The host's, once the device failed.
};

/// The state that an initialiser's step starts from: zeros of the recorded shapes, which no op reads.
kernels::State blank_state(const kernels::Program& program);

}  // namespace retrace::solver
