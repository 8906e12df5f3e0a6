// SPDX-License-Identifier: MIT
// How a party computes steps. An honest party asks an executor; the frauds of solver/adversary put themselves
// in between, so that trainer, replay and the players of a dispute need not know of them.
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
    /// State of step t becomes that of step t + 1; returns the program's metrics.
    std::vector<kernels::Metric> step(kernels::State& state) { return *attempt(state, {}); }
    /// The same, but where `go_on` is given it may be asked between ops. If it says no: nothing, and the
    /// state has no tensors any more.
    virtual std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                                const kernels::GoOn& go_on) = 0;
    /// Output roots of all ops of the step that starts from `state`.
    virtual std::vector<Hash32> trace(const kernels::State& state) = 0;
    /// Outputs of `ops` (ascending) in the step that starts from `state`.
    virtual std::vector<kernels::Tensor> outputs(const kernels::State& state,
                                                 const std::vector<std::uint32_t>& ops) = 0;
    /// kernels::advance_partial for op `op` of the program, which `call` is of.
    virtual void advance_partial(const kernels::OpCall& call, std::uint32_t op, std::uint64_t tile, std::uint64_t first,
                                 std::uint64_t end, kernels::PartialTile& carried) {
        (void)op;
        kernels::advance_partial(call, tile, first, end, carried);
    }
    /// Trains `state` from its step on. `program` is what the commitments name. Everything outlives the training, and
    /// nothing else is asked of the runner meanwhile.
    virtual std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                            kernels::ThreadPool& pool);
    /// Memory of this machine that a step or a move in a dispute takes beside the state, whichever takes more; what is
    /// taken of a device's is not counted.
    virtual std::uint64_t planned_bytes() const { return 0; }
    /// Whether a device computes the steps, which is faster than what a benchmark of this machine's
    /// processors says.
    virtual bool on_device() const { return false; }
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

    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::GoOn& go_on) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state,
                                         const std::vector<std::uint32_t>& ops) override;
    /// On the runner's device, where it has one.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;

    /// With a device too what the host's step takes: it may fail.
    std::uint64_t planned_bytes() const override {
        return std::max(executor_.dispute_bytes(), executor_.planned_bytes());
    }

    bool on_device() const override { return device_in_use() != nullptr; }

    const kernels::Program& program() const noexcept { return program_; }
    kernels::ThreadPool& pool() noexcept { return pool_; }

protected:
    kernels::Executor& executor() noexcept { return executor_; }

private:
    /// Null: the host computes the steps.
    kernels::ExternalBackend* device_in_use() const noexcept { return use_.failed ? nullptr : device_.get(); }

    const kernels::Program& program_;
    kernels::ThreadPool& pool_;
    kernels::Inputs inputs_;
    kernels::Executor executor_;  ///< The host's: traces, outputs, and the steps where no device takes them.
    std::unique_ptr<kernels::ExternalBackend> device_;
    DeviceUse use_;
};

/// The state that an initialiser's step starts from: zeros of the recorded shapes, which no op reads.
kernels::State blank_state(const kernels::Program& program);

}  // namespace retrace::solver
