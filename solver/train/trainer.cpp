// SPDX-License-Identifier: MIT
#include "solver/train/trainer.hpp"

#include "kernels/commit/committer.hpp"

namespace retrace::solver {

Trainer::Trainer(const kernels::CommittedProgram& program, StepRunner& runner, Schedule schedule,
                 kernels::ThreadPool& pool)
    : program_(program), runner_(runner), schedule_(schedule), pool_(pool) {}

Result<bool> Trainer::run(kernels::State& state, std::uint64_t index, const OnProgress& on_progress,
                          const OnCheckpoint& on_checkpoint) {
    // The next checkpoint above the present step: states that were reached before are not reported again.
    std::uint64_t next = state.step / schedule_.interval + 1;
    // One checkpoint is hashed beside the step after it, on a copy of what changed.
    kernels::StateCommitter committer(program_.program(), program_.root());
    const auto report = [&]() -> Status<> {
        if (!committer.under_way()) return Unit{};
        const kernels::StateCommitment commitment = committer.finish();
        return on_checkpoint(next++, commitment, committer.state());
    };
    for (const std::uint64_t last = schedule_.step_of(index); state.step < last;) {
        const std::vector<kernels::Metric> metrics = runner_.step(state);
        RETRACE_CHECK(report());
        if (state.step == schedule_.step_of(next)) committer.begin(state, pool_);
        if (on_progress && !on_progress({state.step, metrics})) {
            RETRACE_CHECK(report());
            return false;
        }
    }
    RETRACE_CHECK(report());
    return true;
}

}  // namespace retrace::solver
