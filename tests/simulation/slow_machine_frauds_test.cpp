// SPDX-License-Identifier: MIT
// Frauds against honest parties whose machines are only just fast enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using market::RunState;
using market::TaskState;
using ::testing::IsEmpty;

void expect_no_loss(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    EXPECT_THAT(outcome.findings.unpaid_work, IsEmpty());
    EXPECT_THAT(outcome.findings.paid_wrong, IsEmpty());
    EXPECT_EQ(outcome.findings.honest_slashed, 0u);
}

TEST(SlowMachineFrauds, ATaskIsSettledByMachinesThatAreJustAllowed) {
    const Outcome outcome = play(1, just_allowed_scenario(), catalogue(), {});
    expect_no_loss(outcome);
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, TaskState::settled);
    EXPECT_EQ(outcome.tasks[0].final_root, outcome.tasks[0].true_root);
}

/// A second replay takes five times as long as a verdict may stay hidden: an auditor that finds a fraud must say so
/// before.
TEST(SlowMachineFrauds, AuditorsThatAreJustAllowedConvictAFraudThatTheyFind) {
    for (const char* fraud : {"ulp", "skip_steps"}) {
        Scenario scenario = just_allowed_scenario();
        scenario.planned_tasks[0].audit_bp = 10'000;
        scenario.solvers[0] = *solver_named(fraud);
        scenario.solvers[0].price_bp = 5'000;  // The cheapest bid, which wins.
        const Outcome outcome = play(1, scenario, catalogue(), {});
        expect_no_loss(outcome);
        EXPECT_EQ(outcome.tasks.at(0).runs.at(0).state, RunState::forfeited) << fraud;
        EXPECT_GE(outcome.findings.frauds_convicted, 1u) << fraud;
    }
}

/// The same for a watcher, whose window holds one replay. Several watch, since each begins with a segment of its own
/// choice and has time for only one.
TEST(SlowMachineFrauds, AWatcherThatIsJustAllowedConvictsAFraudThatNobodyDrew) {
    Scenario scenario = just_allowed_scenario();
    scenario.planned_tasks[0].audit_bp = 100;
    scenario.planned_tasks[0].steps = 90;
    scenario.solvers[0] = *solver_named("skip_steps");
    scenario.solvers[0].segment = 1;
    scenario.solvers[0].price_bp = 5'000;  // The cheapest bid, which wins.
    scenario.verifiers.resize(7, scenario.verifiers[0]);
    for (const std::uint64_t speed : {kFast, kJustAllowed}) {
        for (VerifierRole& role : scenario.verifiers) {
            role.watch_bp = 10'000;
            role.speed_bp = speed;
        }
        const Outcome outcome = play(1, scenario, catalogue(), {});
        expect_no_loss(outcome);
        EXPECT_EQ(outcome.tasks.at(0).runs.at(0).state, RunState::forfeited) << "speed " << speed;
    }
}

/// In six tasks, a second replica delays the opening of the last states, so that all are opened at once, and each is
/// challenged: more disputes than a just allowed machine can play in the time of one.
TEST(SlowMachineFrauds, FalseChallengesOfManyRunsConvictNoHonestSolver) {
    Scenario scenario = just_allowed_scenario();
    scenario.solvers[1].holds_until = 2'600;
    scenario.solvers[1].speed_bp = 40 * kFast;
    scenario.owned = {"solver1", "verifier3"};
    scenario.verifiers.push_back(*verifier_named("griefer"));
    for (std::size_t i = 0; i < 3; ++i) scenario.verifiers[i].speed_bp = kFast;
    PlannedTask planned = scenario.planned_tasks[0];
    planned.steps = planned.interval;
    planned.checkpoint_blocks = 5'000;
    planned.replicas = 2;
    scenario.planned_tasks.assign(6, planned);
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_no_loss(outcome);
    for (const auto& task : outcome.tasks) EXPECT_EQ(task.state, TaskState::settled);
    EXPECT_LT(outcome.balances.at("verifier3").coins + outcome.balances.at("verifier3").bonded, initial_coins())
        << "what is false costs who says it";
}

TEST(SlowMachineFrauds, ABurstOfReportsCostsAnHonestSolverNothing) {
    Scenario scenario = just_allowed_scenario();
    scenario.solvers.resize(1);
    scenario.planned_tasks[0].steps = 30;
    scenario.planned_tasks[0].fraud = RequesterFraud::burst;
    scenario.bad_requesters = {0};
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_no_loss(outcome);
    EXPECT_EQ(outcome.tasks.at(0).runs.at(0).state, RunState::settled);
}

/// The second replica commits to random numbers and opens none of them.
TEST(SlowMachineFrauds, AReplicaThatJoinsIsPaidForWhatNobodyHadOpened) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].steps = 80;
    scenario.planned_tasks[0].raise_to = 2;
    scenario.bad_requesters = {0};
    scenario.solvers[0] = *solver_named("blind");
    scenario.solvers[0].price_bp = 5'000;  // The cheapest bid, which wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_no_loss(outcome);
}

/// Segments that nobody could audit are not paid as if they had been audited.
TEST(SlowMachineFrauds, WithoutVerifiersNoFraudIsPaid) {
    Scenario scenario = calm_scenario();
    scenario.verifiers.clear();
    scenario.planned_tasks[0].audit_bp = 10'000;
    scenario.solvers.assign(1, *solver_named("skip_steps"));
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_no_loss(outcome);
}

/// An accomplice of a solver disputes all segments of a decoy task, to prevent disputes about the other task.
TEST(SlowMachineFrauds, DisputesAboutADecoyShutNobodyOutOfAnotherTask) {
    Scenario scenario = calm_scenario();
    scenario.params.challenge_blocks = 120;
    scenario.params.move_blocks = 20;
    scenario.params.epoch_blocks = 10;
    PlannedTask decoy = scenario.planned_tasks[0];
    decoy.steps = 300;
    decoy.interval = 1;
    decoy.audit_bp = 100;
    decoy.auditors = 1;
    decoy.requester = 1;
    decoy.finish_blocks = 5'000;
    scenario.requesters = 2;
    scenario.bad_requesters = {1};
    scenario.planned_tasks[0].at_height = 400;
    scenario.planned_tasks[0].steps = 12;
    scenario.planned_tasks[0].audit_bp = 100;
    scenario.planned_tasks.insert(scenario.planned_tasks.begin(), decoy);
    scenario.solvers.assign(1, *solver_named("skip_steps"));
    scenario.solvers[0].segment = 3;
    scenario.solvers[0].task = 2;
    scenario.solvers[0].speed_bp = 400 * kFast;
    for (VerifierRole& role : scenario.verifiers) {
        role.watch_bp = 10'000;
        role.speed_bp = 400 * kFast;
    }
    for (const bool disputed : {false, true}) {
        if (disputed) scenario.verifiers.push_back(*verifier_named("griefer"));
        const Outcome outcome = play(1, scenario, catalogue(), {});
        expect_no_loss(outcome);
        ASSERT_EQ(outcome.tasks.size(), 2u);
        EXPECT_EQ(outcome.tasks[1].runs.at(0).state, RunState::forfeited) << "with decoy: " << disputed;
    }
}

}  // namespace
}  // namespace retrace::sim
