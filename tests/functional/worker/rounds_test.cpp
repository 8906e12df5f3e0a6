// SPDX-License-Identifier: MIT
// The phases of a group's plan in worker processes give the bits of LocalGroup, whatever worker dies between.
#include <csignal>
#include <iostream>

#include "solver/rounds/plan_runner.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/worker/remote_runner.hpp"
#include "tests/functional/worker/children.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::testing {
namespace {

using test::TinyGroup;

class RoundsInWorkers : public ::testing::TestWithParam<kernels::UpdateKind> {
protected:
    /// Runs a member's segment in which another message is recorded in each of two rounds.
    void run(const std::function<void()>& between) {
        TinyGroup task(GetParam());
        solver::LocalGroup local = task.local(2);
        solver::WorkerOptions options;
        options.executable = RETRACE_PROGRAM;
        options.limits = {1u << 30, 1, solver::sandbox_is_supported()};
        const auto record =
            std::make_shared<solver::WorkerRecord>([](const std::string& what) { std::cout << what << std::endl; });
        const solver::RunnerFactory runners = solver::remote_runners(options, record);
        const solver::CommittedPlan plan(task.plan);
        solver::PlanRunner runner(
            plan, task.terms.seed, {&task.x, &task.y},
            [&](const kernels::Program& program, kernels::Inputs inputs) {
                return runners(task.terms, program, std::move(inputs), task.pool);
            },
            task.pool);
        auto state = runner.init();
        ASSERT_TRUE(state.has_value());
        EXPECT_EQ(kernels::commit_state(plan.root(), *state, task.pool).root, local.commit(0).root);
        std::vector<std::vector<std::vector<kernels::Tensor>>> records;  // By round, message and place.
        for (std::uint32_t round = 0; round < 3; ++round) {
            const std::vector<std::uint32_t> counts(round == 0 ? 0 : 1, 2);
            const kernels::SegmentSpan span{round == 0 ? 0 : round - 1, round, 3, std::nullopt};
            const auto segment = kernels::SegmentPositions::make(span, counts, plan.steps_max());
            ASSERT_TRUE(segment.has_value());
            const auto message = [&](const kernels::Position& at) {
                kernels::Message out{{3, 6, 0, 3}, {}};
                for (const kernels::Tensor& tensor : records.at(at.record).at(at.message))
                    out.tensors.push_back(&tensor);
                return out;
            };
            const auto watch = [&](std::uint64_t, const kernels::Position&, const std::vector<kernels::Metric>&) {
                between();
                return true;
            };
            ASSERT_EQ(runner.run(*state, *segment, 0, segment->count(), 0, message, {}, watch), segment->count());
            local.play({{3, true}, {3, true}});
            EXPECT_EQ(kernels::commit_state(plan.root(), *state, task.pool).root, local.commit(0).root)
                << "round " << round;
            records.emplace_back();
            for (std::uint32_t member = 0; member < 2; ++member) {
                records.back().emplace_back();
                for (const std::uint32_t t : plan.public_tensors())
                    records.back().back().push_back(local.state(member).tensors[t]);
            }
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Updates, RoundsInWorkers,
                         ::testing::Values(kernels::UpdateKind::dense, kernels::UpdateKind::sparse),
                         [](const auto& info) {
                             return info.param == kernels::UpdateKind::dense ? "dense" : "sparse";
                         });

TEST_P(RoundsInWorkers, GiveTheBitsOfTheLocalGroup) {
    run([] {});
}

TEST_P(RoundsInWorkers, GiveThemAfterWorkersDied) {
    std::uint32_t positions = 0;
    run([&] {
        if (++positions % 3 != 0) return;
        for (const int worker : workers_of(::getpid())) ::kill(worker, SIGKILL);
    });
}

}  // namespace
}  // namespace retrace::testing
