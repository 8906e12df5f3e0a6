// SPDX-License-Identifier: MIT
// A training in progress: its state stays where the steps are computed and is copied to host memory only on request.
// Commitments are computed where the state is.
#pragma once

#include <optional>

#include "kernels/commit/committer.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::solver {

/// Steps in progress, whose states are asked for one after the other.
class Computation {
public:
    virtual ~Computation() = default;

    /// Number of the present state, as in its header.
    virtual std::uint64_t step() const noexcept = 0;
    /// A hint that costs only time if it is wrong: until `step` the caller will ask only for steps, or end the
    /// computation with state(), which may then return the state of a later step, at most `step`.
    virtual void run_ahead(std::uint64_t step) { (void)step; }
    /// Makes one step; returns the program's metrics.
    virtual std::vector<kernels::Metric> advance() = 0;
    /// The same, but polls `stop` between ops where the host computes the steps. If it requests a stop, the result is
    /// nullopt and the state has lost its tensors or is that of an earlier step.
    virtual std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) {
        (void)stop;
        return advance();
    }
    /// Brings the state that the computation began with up to date and returns it.
    virtual const kernels::State& state() = 0;

    /// Computes the commitment of the present state synchronously. Tensors that no op writes are hashed only the first
    /// time.
    virtual kernels::StateCommitment commit() = 0;
};

/// Steps of one program, with commitments that are computed concurrently.
class Training : public Computation {
public:
    /// Starts a commitment that is computed concurrently with the following steps, one at a time. Only tiles that
    /// changed since the last begin_commitment are hashed.
    virtual void begin_commitment() = 0;
    virtual bool commitment_under_way() const noexcept = 0;
    virtual kernels::StateCommitment finish_commitment() = 0;
    /// The state at the last begin_commitment.
    virtual const kernels::State& committed() = 0;
};

class StepRunner;

/// Trains in host memory with a runner's steps; advances `state` in place.
class HostTraining final : public Training {
public:
    /// All arguments must outlive the training.
    HostTraining(StepRunner& runner, const kernels::CommittedProgram& program, kernels::State& state,
                 kernels::ThreadPool& pool);

    std::uint64_t step() const noexcept override { return state_.step; }
    std::vector<kernels::Metric> advance() override;
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) override;
    const kernels::State& state() override { return state_; }
    kernels::StateCommitment commit() override;
    void begin_commitment() override { committer_.begin(state_, pool_); }
    bool commitment_under_way() const noexcept override { return committer_.under_way(); }
    kernels::StateCommitment finish_commitment() override { return committer_.finish(); }
    const kernels::State& committed() override { return committer_.state(); }

private:
    StepRunner& runner_;
    kernels::State& state_;
    kernels::ThreadPool& pool_;
    const kernels::CommittedProgram& program_;
    kernels::StateCommitter committer_;
    std::optional<kernels::StateCommitment> before_;  ///< Commitment of an earlier step.
};

/// State of a runner's device: whether a training uses it, and whether it failed.
struct DeviceUse {
    bool busy = false, failed = false;
};

/// Trains on a device, which nothing else may use meanwhile. `state` is updated only by state(). A device failure sets
/// `use.failed` and is thrown.
class DeviceTraining final : public Training {
public:
    /// All arguments must outlive the training. `use.busy` is true as long as the training exists.
    DeviceTraining(kernels::ExternalBackend& device, const kernels::Inputs& inputs, const Hash32& program_root,
                   kernels::State& state, DeviceUse& use);
    ~DeviceTraining() override;
    DeviceTraining(const DeviceTraining&) = delete;
    DeviceTraining& operator=(const DeviceTraining&) = delete;

    std::uint64_t step() const noexcept override { return step_; }
    std::vector<kernels::Metric> advance() override;
    const kernels::State& state() override;
    kernels::StateCommitment commit() override;
    void begin_commitment() override;
    bool commitment_under_way() const noexcept override { return under_way_; }
    kernels::StateCommitment finish_commitment() override;
    const kernels::State& committed() override;

private:
    template <class Work>
    auto on_device(Work work);

    kernels::ExternalBackend& device_;
    const Hash32 program_root_;
    kernels::State& state_;
    DeviceUse& use_;
    std::uint64_t step_ = 0, committed_step_ = 0;
    bool under_way_ = false;
    std::optional<kernels::State> committed_;  ///< State of a committed step, once it was asked for.
};

}  // namespace retrace::solver
