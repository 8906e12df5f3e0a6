// SPDX-License-Identifier: MIT
#include "solver/train/trainer.hpp"

#include <optional>

namespace retrace::solver {

Trainer::Trainer(const kernels::CommittedProgram& program, StepRunner& runner, Schedule schedule,
                 kernels::ThreadPool& pool)
    : program_(program), runner_(runner), schedule_(schedule), pool_(pool) {}

Result<bool> Trainer::run(kernels::State& state, std::uint64_t index, const OnProgress& on_progress,
                          const OnCheckpoint& on_checkpoint) {
    // The next checkpoint above the present step: states that were reached before are not reported again.
    std::uint64_t next = state.step / schedule_.interval + 1;
    std::optional<kernels::StateCommitment> before;
    for (const std::uint64_t last = schedule_.step_of(index); state.step < last;) {
        const std::vector<kernels::Metric> metrics = runner_.step(state);
        if (state.step == schedule_.step_of(next)) {
            before = before ? kernels::commit_next(program_.program(), *before, state, pool_)
                            : kernels::commit_state(program_.root(), state, pool_);
            RETRACE_CHECK(on_checkpoint(next, *before, state));
            ++next;
        }
        if (on_progress && !on_progress({state.step, metrics})) return false;
    }
    return true;
}

}  // namespace retrace::solver
