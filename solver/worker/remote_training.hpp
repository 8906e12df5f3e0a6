// SPDX-License-Identifier: MIT
// A training whose steps a worker process computes.
#pragma once

#include <chrono>
#include <deque>

#include "solver/worker/remote_runner.hpp"

namespace retrace::solver {

/// The caller's state is always that of some step of the training: the first, or the one that was last copied from the
/// worker. A new worker continues from it.
class RemoteTraining final : public Training {
public:
    /// All arguments must outlive the training, and the runner must not be used otherwise meanwhile.
    RemoteTraining(RemoteRunner& runner, const Hash32& program_root, kernels::State& state);

    std::uint64_t step() const noexcept override { return step_; }
    void run_ahead(std::uint64_t step) override { ahead_ = step; }
    std::vector<kernels::Metric> advance() override;
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) override;
    const kernels::State& state() override;
    kernels::StateCommitment commit() override;
    void begin_commitment() override;
    bool commitment_under_way() const noexcept override { return under_way_; }
    kernels::StateCommitment finish_commitment() override;
    /// Returns the caller's state, set to the committed step; valid until the next call.
    const kernels::State& committed() override;

private:
    using Clock = std::chrono::steady_clock;
    template <class Work>
    auto ask(Work work);
    /// Whether this training was loaded into the running worker.
    bool is_loaded() const;
    /// Brings the worker's state to `step`, from its present state or from ours. Returns false if a step was aborted.
    bool bring_to(Connection& worker, std::uint64_t step, const kernels::StopToken& stop);
    /// Copies the present state from the worker into `state_`.
    void save();

    RemoteRunner& runner_;
    const Hash32 program_root_;
    kernels::State& state_;
    kernels::State spare_;  // Receive buffer; swapped with state_ once it is complete.
    std::uint64_t step_ = 0, committed_step_ = 0;
    std::uint64_t ahead_ = 0;                        // The worker may compute steps ahead up to this one.
    std::deque<std::vector<kernels::Metric>> made_;  // Metrics of the steps that the worker has made after step_.
    bool under_way_ = false;
    std::uint64_t number_ = 0;         // Connection in which this training is loaded; 0: none.
    std::uint64_t finished_in_ = 0;    // Connection that finished the last commitment.
    std::optional<std::uint64_t> at_;  // Step of the worker's state; none: it has no state.
    bool begun_ = false;               // Whether the worker has begun the commitment that is under way.
    unsigned deaths_ = 0;              // Deaths since the last completed request.
    Clock::time_point saved_;
};

}  // namespace retrace::solver
