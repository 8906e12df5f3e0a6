// SPDX-License-Identifier: MIT
// A training under way: its state goes forward where the steps are computed, and comes to the host's memory
// only when it is asked for. Commitments are made where the state is.
#pragma once

#include <optional>

#include "kernels/commit/committer.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::solver {

class Training {
public:
    virtual ~Training() = default;

    /// Steps done: the state's number.
    virtual std::uint64_t step() const noexcept = 0;
    /// A hint, which costs nothing but time where it is wrong: until `step` the caller asks for nothing but steps, or
    /// ends the training with state(), which then may be that of a step up to there.
    virtual void run_ahead(std::uint64_t step) { (void)step; }
    /// One step; returns the program's metrics.
    virtual std::vector<kernels::Metric> advance() = 0;
    /// The same, but asks between ops whether to go on, where the steps are the host's. If not: nothing, and
    /// the state has no tensors any more, or is that of an earlier step.
    virtual std::optional<std::vector<kernels::Metric>> attempt(const kernels::GoOn& go_on) {
        (void)go_on;
        return advance();
    }
    /// Brings the state that the training began with up to date and returns it.
    virtual const kernels::State& state() = 0;

    /// The commitment of the present state, at once. Tensors that no op writes are hashed the first time
    /// only.
    virtual kernels::StateCommitment commit() = 0;
    /// The same beside the steps that follow, one at a time; only tiles that changed since the last one that
    /// was begun are hashed.
    virtual void begin_commitment() = 0;
    virtual bool commitment_under_way() const noexcept = 0;
    virtual kernels::StateCommitment finish_commitment() = 0;
    /// The state of the last `begin_commitment`.
    virtual const kernels::State& committed() = 0;
};

class StepRunner;

/// In the host's memory, by a runner's steps: `state` itself goes forward.
class HostTraining final : public Training {
public:
    /// Everything outlives the training.
    HostTraining(StepRunner& runner, const kernels::CommittedProgram& program, kernels::State& state,
                 kernels::ThreadPool& pool);

    std::uint64_t step() const noexcept override { return state_.step; }
    std::vector<kernels::Metric> advance() override;
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::GoOn& go_on) override;
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
    std::optional<kernels::StateCommitment> before_;  ///< Of an earlier step.
};

/// Of a runner's device: whether a training is on it, and whether it failed.
struct DeviceUse {
    bool busy = false, failed = false;
};

/// On a device, which nothing else may use meanwhile: `state` stays as it was until state() is called. What fails there
/// is thrown, and noted.
class DeviceTraining final : public Training {
public:
    /// Everything outlives the training. `use.busy` is true as long as the training is there.
    DeviceTraining(kernels::ExternalBackend& device, const kernels::Inputs& inputs,
                   const Hash32& program_root, kernels::State& state, DeviceUse& use);
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
    std::optional<kernels::State> committed_;  ///< Of committed_step_, once it was asked for.
};

}  // namespace retrace::solver
