// SPDX-License-Identifier: MIT
// Runs a task's program from any state to a later checkpoint. The same steps give the same bits from wherever
// they are resumed.
#pragma once

#include <functional>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/schedule.hpp"

namespace retrace::solver {

struct Progress {
    std::uint64_t step = 0;                ///< Steps done.
    std::vector<kernels::Metric> metrics;  ///< Of the last one.
};

class Trainer {
public:
    /// Called after every step; false stops there.
    using OnProgress = std::function<bool(const Progress&)>;
    /// Called with each checkpoint that is reached, once it is hashed: beside the next step, so that step's progress
    /// may come first. The state is that of the checkpoint. An error stops.
    using OnCheckpoint =
        std::function<Status<>(std::uint64_t index, const kernels::StateCommitment&, const kernels::State&)>;

    /// Everything outlives the trainer. `runner` runs `program`.
    Trainer(const kernels::CommittedProgram& program, StepRunner& runner, Schedule schedule,
            kernels::ThreadPool& pool);

    /// Trains `state` (at any step) up to checkpoint `index`. Returns false when on_progress stopped it, or
    /// when `go_on`, asked between ops, left a step: `state` has no tensors then, or is that of an earlier step.
    Result<bool> run(kernels::State& state, std::uint64_t index, const OnProgress& on_progress,
                     const OnCheckpoint& on_checkpoint, const kernels::GoOn& go_on = {});

private:
    const kernels::CommittedProgram& program_;
    StepRunner& runner_;
    Schedule schedule_;
    kernels::ThreadPool& pool_;
};

}  // namespace retrace::solver
