// SPDX-License-Identifier: MIT
#include "solver/train/trainer.hpp"

#include <gtest/gtest.h>

#include <map>

#include "solver/attacks/compute_attacks.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using namespace solver;

std::map<std::uint64_t, Hash32> train(TinyTask& task, StepRunner& runner, kernels::State& state) {
    std::map<std::uint64_t, Hash32> roots;
    Trainer trainer(task.train, runner, task.terms.schedule, task.pool);
    const auto done = trainer.run(
        state, task.terms.schedule.segments(), {},
        [&](std::uint64_t index, const kernels::StateCommitment& commitment, const kernels::State&) -> Status<> {
            roots[index] = commitment.root;
            return Unit{};
        });
    EXPECT_TRUE(done.has_value() && *done);
    return roots;
}

TEST(Schedule, TheLastSegmentMayBeShort) {
    const Schedule schedule{10, 4};
    EXPECT_EQ(schedule.segments(), 3u);
    EXPECT_EQ(schedule.step_of(0), 0u);
    EXPECT_EQ(schedule.step_of(2), 8u);
    EXPECT_EQ(schedule.step_of(3), 10u);
    EXPECT_EQ((Schedule{8, 4}.segments()), 2u);
    EXPECT_EQ((Schedule{8, 4}.step_of(2)), 8u);
}

TEST(Trainer, ReachesTheSameRootsFromWhereverItResumes) {
    TinyTask task;
    ProgramRunner runner(task.train.program(), task.inputs(), task.pool);
    kernels::State whole = task.initial();
    const auto roots = train(task, runner, whole);
    EXPECT_EQ(roots.size(), 3u);
    for (const std::uint64_t stop : {1u, 4u, 7u}) {
        kernels::State state = task.initial();
        for (std::uint64_t i = 0; i < stop; ++i) runner.step(state);
        for (const auto& [index, root] : train(task, runner, state)) EXPECT_EQ(root, roots.at(index));
        EXPECT_EQ(state, whole);
    }
}

TEST(Trainer, StopsWhenItIsToldTo) {
    TinyTask task;
    ProgramRunner runner(task.train.program(), task.inputs(), task.pool);
    kernels::State state = task.initial();
    Trainer trainer(task.train, runner, task.terms.schedule, task.pool);
    const auto ignore = [](std::uint64_t, const kernels::StateCommitment&, const kernels::State&) -> Status<> {
        return Unit{};
    };
    const auto done = trainer.run(
        state, 3, [](const Progress& progress) { return progress.step < 5; }, ignore);
    ASSERT_TRUE(done.has_value());
    EXPECT_FALSE(*done);
    EXPECT_EQ(state.step, 5u);
}

TEST(Frauds, ChangeTheLastSegmentAndNothingBefore) {
    TinyTask task;
    ProgramRunner honest(task.train.program(), task.inputs(), task.pool);
    kernels::State state = task.initial();
    const auto roots = train(task, honest, state);
    for (const ComputeAttack fraud :
         {ComputeAttack::ulp, ComputeAttack::skip_steps, ComputeAttack::wrong_data, ComputeAttack::stale_checkpoint}) {
        const auto runner = make_attacker(fraud, task.terms.schedule, task.train.program(), task.inputs(), task.pool);
        kernels::State cheated = task.initial();
        const auto wrong = train(task, *runner, cheated);
        EXPECT_EQ(wrong.at(1), roots.at(1)) << slug(fraud);
        EXPECT_EQ(wrong.at(2), roots.at(2)) << slug(fraud);
        EXPECT_NE(wrong.at(3), roots.at(3)) << slug(fraud);
        kernels::State again = task.initial();
        EXPECT_EQ(train(task, *runner, again), wrong) << slug(fraud) << " must be repeatable";
    }
}

TEST(Frauds, HaveNames) {
    for (const ComputeAttack fraud : {ComputeAttack::ulp, ComputeAttack::skip_steps, ComputeAttack::wrong_data,
                                      ComputeAttack::stale_checkpoint, ComputeAttack::silent}) {
        EXPECT_EQ(parse_compute_attack(slug(fraud)), fraud);
    }
    EXPECT_EQ(parse_compute_attack("none"), std::nullopt);
}

}  // namespace
}  // namespace retrace::test
