// SPDX-License-Identifier: MIT
// Spot tasks that are given back, with the product's views and agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/odds.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::RunState;
using market::TaskState;
using ::testing::IsEmpty;

/// A spot task of six segments. The first solver bids less, and gives its run back after two.
Scenario spot_task() {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].spot = true;
    scenario.planned_tasks[0].steps = 12;
    scenario.planned_tasks[0].interval = 2;
    scenario.solvers[0].price_bp = 5'000;
    scenario.solvers[0].gives_back_after = 2;
    return scenario;
}

TEST(Spot, ARunThatIsGivenBackGoesOnElsewhereAndNothingIsLost) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Scenario scenario = spot_task();
        const Outcome outcome = play(seed, scenario, catalogue(), {});
        EXPECT_THAT(outcome.findings.violations, IsEmpty()) << "seed " << seed;
        EXPECT_THAT(outcome.findings.unpaid_work, IsEmpty()) << "seed " << seed;
        const auto& task = outcome.tasks.at(0);
        ASSERT_EQ(task.runs.size(), 2u);
        EXPECT_EQ(task.runs[0].state, RunState::left);
        EXPECT_EQ(task.runs[0].paid, 2u);
        EXPECT_EQ(task.runs[0].earned, task.runs[0].price * U256(2));
        EXPECT_EQ(outcome.balances.at("solver0").bonded, scenario.solvers[0].stake);
        EXPECT_EQ(task.runs[1].first_state, 2u);
        EXPECT_EQ(task.state, TaskState::settled);
        EXPECT_EQ(task.final_root, task.true_root);
    }
}

/// The last segment of a run that is given back is audited, whatever the odds are.
TEST(Spot, AForgerDoesNotEscapeByGivingBack) {
    Scenario scenario = spot_task();
    scenario.solvers[0] = *solver_named("ulp");
    scenario.solvers[0].price_bp = 5'000;
    scenario.solvers[0].segment = 1;
    scenario.solvers[0].gives_back_after = 2;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    const auto& task = outcome.tasks.at(0);
    ASSERT_GE(task.runs.size(), 2u);
    EXPECT_EQ(task.runs[0].state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
    EXPECT_LT(outcome.balances.at("solver0").bonded, scenario.solvers[0].stake);
    EXPECT_EQ(task.state, TaskState::settled);
    EXPECT_EQ(task.final_root, task.true_root);
}

}  // namespace
}  // namespace retrace::sim
