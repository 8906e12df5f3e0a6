// SPDX-License-Identifier: MIT
// Capability challenges with the product's agents: solvers that answer are measured. Silent ones, and those that
// inflate their benchmark, are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solver/capability/program.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ::testing::IsEmpty;

/// Two honest solvers, one that inflates its benchmark by rounds that it did not compute, and one that never answers;
/// the last two bid lower. The task is posted after all have been measured.
Scenario measured_scenario() {
    Scenario scenario = calm_scenario();
    SolverRole role = scenario.solvers[0];
    role.price_bp = 7'000;
    role.inflates_benchmark = true;
    scenario.solvers.push_back(role);
    role.inflates_benchmark = false;
    role.mute = true;
    scenario.solvers.push_back(role);
    scenario.planned_tasks[0].at_height = 140;
    return scenario;
}

TEST(Capability, IsWhatWasProved) {
    const market::Params params = simulated_params();
    const Scenario scenario = measured_scenario();
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    const std::uint64_t window = params.capability_blocks;
    for (const char* name : {"solver0", "solver1"}) {
        EXPECT_EQ(outcome.solvers.at(name).capability, 2 * solver::kCapabilityRoundCost / (window / 2)) << name;
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.solvers[0].stake) << name;
    }
    EXPECT_EQ(outcome.solvers.at("solver2").capability, 0u) << "inflates_benchmark";
    EXPECT_LT(outcome.balances.at("solver2").bonded, scenario.solvers[2].stake);
    EXPECT_GE(outcome.balances.at("solver2").bonded + params.capability_penalty * ledger::U256(3),
              scenario.solvers[2].stake)
        << "the penalty for each challenge, and nothing else";
    EXPECT_EQ(outcome.solvers.at("solver3").capability, 0u) << "mute";
    EXPECT_EQ(outcome.balances.at("solver3").bonded, scenario.solvers[3].stake) << "costs nothing but the score";
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, market::TaskState::settled);
    // An unmeasured machine counts half more: 70 % of the ceiling then costs more than 80 %.
    EXPECT_THAT(outcome.solver_of(outcome.tasks[0].runs.at(0)), ::testing::StartsWith("solver"));
    EXPECT_GT(outcome.solvers.at(outcome.solver_of(outcome.tasks[0].runs[0])).capability, 0u);
}

TEST(Capability, SurvivesCrashesBetweenTheMovesWithoutALossOfStake) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        Scenario scenario = calm_scenario();
        // The machine is down when the seed comes, when the elements are drawn, and once in between.
        for (const std::uint64_t at : {31, 40, 63, 66})
            scenario.outages.push_back({1, true, at * kBlockMillis + seed * 150, (at + 3) * kBlockMillis});
        const Outcome outcome = play(seed, scenario, catalogue(), {});
        EXPECT_THAT(outcome.findings.violations, IsEmpty()) << "seed " << seed;
        EXPECT_GT(outcome.solvers.at("solver0").capability, 0u) << "seed " << seed;
        EXPECT_EQ(outcome.balances.at("solver0").bonded, scenario.solvers[0].stake) << "seed " << seed;
    }
}

}  // namespace
}  // namespace retrace::sim
