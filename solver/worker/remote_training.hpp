// SPDX-License-Identifier: MIT
// A training whose steps a worker process computes.
#pragma once

#include <chrono>
#include <deque>

#include "solver/worker/remote_runner.hpp"

namespace retrace::solver {

/// The caller's state is always that of some step of the training: the start, or the newest that came here. From it a
/// new worker goes on.
class RemoteTraining final : public Training {
public:
    /// Everything outlives the training; nothing is asked of the runner meanwhile.
    RemoteTraining(RemoteRunner& runner, const Hash32& program_root, kernels::State& state);

    std::uint64_t step() const noexcept override { return step_; }
    void run_ahead(std::uint64_t step) override { ahead_ = step; }
    std::vector<kernels::Metric> advance() override;
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::GoOn& go_on) override;
    const kernels::State& state() override;
    kernels::StateCommitment commit() override;
    void begin_commitment() override;
    bool commitment_under_way() const noexcept override { return under_way_; }
    kernels::StateCommitment finish_commitment() override;
    /// As good as `state` of that step: valid until the next call.
    const kernels::State& committed() override;

private:
    using Clock = std::chrono::steady_clock;
    template <class Work>
    auto ask(Work work);
    /// Whether the worker that runs has had this training loaded.
    bool is_loaded() const;
    /// Makes the worker's state that of `step`, from the one that it has or from ours; false: a step was left.
    bool bring_to(Connection& worker, std::uint64_t step, const kernels::GoOn& go_on);
    /// The present state comes here.
    void save();

    RemoteRunner& runner_;
    const Hash32 program_root_;
    kernels::State& state_;
    kernels::State spare_;  // What comes is written there, and is whole when it takes the other's place.
    std::uint64_t step_ = 0, committed_step_ = 0;
    std::uint64_t ahead_ = 0;  // The worker may go on to there.
    std::deque<std::vector<kernels::Metric>> made_;  // Metrics of the steps that it has made after step_.
    bool under_way_ = false;
    std::uint64_t number_ = 0;         // Of the connection that has it; 0: none.
    std::uint64_t finished_in_ = 0;    // Of the one that finished the last commitment.
    std::optional<std::uint64_t> at_;  // The step of the worker's state; none: there is none.
    bool begun_ = false;               // Whether the worker was told of the commitment under way.
    unsigned deaths_ = 0;              // Since something was done.
    Clock::time_point saved_;
};

}  // namespace retrace::solver
