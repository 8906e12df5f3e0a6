// SPDX-License-Identifier: MIT
// The interface by which a party computes steps. An honest party uses an executor; the attacks of solver/attacks wrap
// it, so that trainer, replay and the players of a dispute need not know of them.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/exec/executor.hpp"
#include "kernels/exec/partial_tile.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/training.hpp"

namespace retrace::solver {

class StepRunner {
public:
    virtual ~StepRunner() = default;
    /// Replaces seed and data sets, which have the shapes of those before and outlive the runner or the next call. No
    /// training that the runner began is in use.
    virtual void set_inputs(kernels::Inputs inputs) = 0;
    /// Advances `state` from step t to step t + 1; returns the program's metrics.
    std::vector<kernels::Metric> step(kernels::State& state) { return *attempt(state, {}); }
    /// The same, but `stop` may be polled between ops. If it requests a stop, the step is aborted: the result
    /// is nullopt and `state` has lost its tensors.
    virtual std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                                const kernels::StopToken& stop) = 0;
    /// Output roots of all ops of the step that starts from `state`.
    virtual std::vector<Hash32> trace(const kernels::State& state) = 0;
    /// Outputs of `ops` (ascending) in the step that starts from `state`.
    virtual std::vector<kernels::Tensor> outputs(const kernels::State& state,
                                                 const std::vector<std::uint32_t>& ops) = 0;
    /// kernels::advance_partial for op `op` of the program; `call` is a call of that op.
    virtual void advance_partial(const kernels::OpCall& call, std::uint32_t op, std::uint64_t tile, std::uint64_t first,
                                 std::uint64_t end, kernels::PartialTile& carried) {
        (void)op;
        kernels::advance_partial(call, tile, first, end, carried);
    }
    /// Starts a training of `state` from its step on. The commitments name `program`. All arguments must outlive the
    /// training, and the runner must not be used otherwise meanwhile.
    virtual std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool);
    /// Bytes of host memory beside the state that a step or a move in a dispute takes, whichever is more. Device memory
    /// is not counted.
    virtual std::uint64_t planned_bytes() const { return 0; }
    /// Whether a device computes the steps, so that the measured speed of the processors does not apply.
    virtual bool on_device() const { return false; }
    /// Bytes that a step moves from and to a disk; 0: none.
    virtual std::uint64_t disk_bytes() const { return 0; }
};

/// Runs the program honestly on its inputs.
class ProgramRunner : public StepRunner {
public:
    /// `program` (checked), the data sets and `pool` must outlive the runner.
    ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                  kernels::Backend backend = kernels::Backend::cpu);
    /// Computes steps on `device`, which was opened for this program (solver/run/device.hpp). A device failure is
    /// thrown, and all later steps run on the host, with the same bits. Traces and outputs always run on the host.
    ProgramRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                  std::unique_ptr<kernels::ExternalBackend> device);

    void set_inputs(kernels::Inputs inputs) override { inputs_ = std::move(inputs); }
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::StopToken& stop) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override;
    /// Trains on the runner's device, if it has a working one.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;

    /// Includes the memory of a host step even with a device, because the device may fail.
    std::uint64_t planned_bytes() const override {
        return std::max(executor_.dispute_bytes(), executor_.planned_bytes());
    }

    bool on_device() const override { return device_in_use() != nullptr; }

    const kernels::Program& program() const noexcept { return program_; }
    kernels::ThreadPool& pool() noexcept { return pool_; }

protected:
    kernels::Executor& executor() noexcept { return executor_; }

private:
    /// Null if the host computes the steps.
    kernels::ExternalBackend* device_in_use() const noexcept { return use_.failed ? nullptr : device_.get(); }

    const kernels::Program& program_;
    kernels::ThreadPool& pool_;
    kernels::Inputs inputs_;
    kernels::Executor executor_;  ///< Runs on the host: traces, outputs, and steps without a device.
    std::unique_ptr<kernels::ExternalBackend> device_;
    DeviceUse use_;
};

/// The state that an initialiser's step starts from: zeros of the recorded shapes. No op reads them.
kernels::State blank_state(const kernels::Program& program);

}  // namespace retrace::solver
