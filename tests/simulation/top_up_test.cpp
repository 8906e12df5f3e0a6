// SPDX-License-Identifier: MIT
// A task whose first auctions find nobody goes on at a higher ceiling, with the product's views and agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using market::TaskState;
using ::testing::IsEmpty;

/// These solvers cannot reach the chain before the first auction is over.
Scenario late_solvers(std::initializer_list<std::size_t> solvers) {
    Scenario scenario = calm_scenario();
    const std::uint64_t posted = scenario.planned_tasks[0].at_height;
    const std::uint64_t over = posted + scenario.params.bid_blocks + 6;
    for (const std::size_t solver : solvers)
        scenario.outages.push_back({solver, false, (posted - 5) * kBlockMillis, over * kBlockMillis});
    return scenario;
}

TEST(TopUp, ATaskWithoutBidsIsTrainedAtItsHigherCeiling) {
    Scenario scenario = late_solvers({1, 2});
    ASSERT_EQ(play(1, scenario, catalogue(), {}).tasks.at(0).state, TaskState::expired) << "without a top-up";
    scenario.planned_tasks[0].tops_up = true;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    const auto& task = outcome.tasks.at(0);
    EXPECT_EQ(task.state, TaskState::settled);
    EXPECT_EQ(task.final_root, task.true_root);
    EXPECT_EQ(task.spec.price_ceiling, ledger::U256(20 * market::kMilli));
    EXPECT_GT(task.runs.at(0).price, ledger::U256(10 * market::kMilli)) << "a share of the ceiling that counts";
}

/// A solver that waits for the higher ceiling loses to one that does not.
TEST(TopUp, WhoWaitsForTheHigherCeilingFindsTheTaskTaken) {
    Scenario scenario = late_solvers({2});
    scenario.planned_tasks[0].tops_up = true;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver0");
    EXPECT_EQ(task.runs[0].price, ledger::U256(10 * market::kMilli)) << "at the ceiling of its auction";
    EXPECT_EQ(task.state, TaskState::settled);
}

}  // namespace
}  // namespace retrace::sim
