// SPDX-License-Identifier: MIT
#include "solver/train/trainer.hpp"

#include <algorithm>

namespace retrace::solver {

Trainer::Trainer(const kernels::CommittedProgram& program, StepRunner& runner, Schedule schedule,
                 kernels::ThreadPool& pool)
    : program_(program), runner_(runner), schedule_(schedule), pool_(pool) {}

Result<bool> Trainer::run(kernels::State& state, std::uint64_t index, const OnProgress& on_progress,
                          const OnCheckpoint& on_checkpoint, const kernels::StopToken& stop) {
    // The next checkpoint above the present step: states reached before are not reported again.
    std::uint64_t next = state.step / schedule_.interval + 1;
    // A checkpoint is hashed concurrently with the following step, on a copy of the changed data.
    const std::unique_ptr<Training> training = runner_.train(program_, state, pool_);
    const auto report = [&]() -> Status<> {
        if (!training->commitment_under_way()) return Unit{};
        const kernels::StateCommitment commitment = training->finish_commitment();
        return on_checkpoint(next++, commitment, training->committed());
    };
    bool stopped = false;
    for (const std::uint64_t last = schedule_.step_of(index); training->step() < last && !stopped;) {
        training->run_ahead(std::min(schedule_.step_of(next), last));
        const auto metrics = training->attempt(stop);
        RETRACE_CHECK(report());
        if (!metrics) return false;
        if (training->step() == schedule_.step_of(next)) training->begin_commitment();
        stopped = on_progress && !on_progress({training->step(), *metrics});
    }
    RETRACE_CHECK(report());
    training->state();
    return !stopped;
}

}  // namespace retrace::solver
