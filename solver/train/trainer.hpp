// SPDX-License-Identifier: MIT
// Runs a task's program from any state to a later checkpoint. The result has the same bits wherever training was
// resumed.
#pragma once

#include <functional>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/schedule.hpp"

namespace retrace::solver {

struct Progress {
    std::uint64_t step = 0;                ///< Steps done.
    std::vector<kernels::Metric> metrics;  ///< Metrics of the last step.
};

class Trainer {
public:
    /// Called after every step; returning false stops the training.
    using OnProgress = std::function<bool(const Progress&)>;
    /// Called with each checkpoint and its state once it is hashed. Hashing runs concurrently with the next step, so
    /// the call follows OnProgress of the checkpoint's own step. An error stops the training.
    using OnCheckpoint =
        std::function<Status<>(std::uint64_t index, const kernels::StateCommitment&, const kernels::State&)>;

    /// All arguments must outlive the trainer. `runner` runs `program`.
    Trainer(const kernels::CommittedProgram& program, StepRunner& runner, Schedule schedule, kernels::ThreadPool& pool);

    /// Trains `state` (at any step) up to checkpoint `index`. Returns false if on_progress stopped it, or if `stop`,
    /// called between ops, aborted a step; then `state` has no tensors or is that of an earlier step.
    Result<bool> run(kernels::State& state, std::uint64_t index, const OnProgress& on_progress,
                     const OnCheckpoint& on_checkpoint, const kernels::StopToken& stop = {});

private:
    const kernels::CommittedProgram& program_;
    StepRunner& runner_;
    Schedule schedule_;
    kernels::ThreadPool& pool_;
};

}  // namespace retrace::solver
