// SPDX-License-Identifier: MIT
// Redundancy: a single correct replica wins against the others, and nothing waits for a finished dispute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using market::RunState;
using market::TaskState;

void expect_replicas_settled(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, TaskState::settled);
}

struct Crowd {
    std::uint8_t replicas;
    std::size_t honest;  ///< Index of the honest replica.
};
class HonestMinority : public ::testing::TestWithParam<Crowd> {};

TEST_P(HonestMinority, OfOneWins) {
    const auto [replicas, honest] = GetParam();
    Scenario scenario = calm_scenario();
    // The verifiers collude, so only the replicas check each other.
    scenario.verifiers.assign(2, *verifier_named("colluder"));
    scenario.planned_tasks[0].replicas = replicas;
    scenario.solvers.assign(replicas, *solver_named("hyper_parameter"));
    scenario.solvers[honest] = *solver_named("honest");
    for (std::size_t i = 0; i < replicas; ++i) scenario.solvers[i].price_bp = 5'000 + 500 * i;
    const Outcome outcome = play(2, scenario, catalogue(), {});
    expect_replicas_settled(outcome);
    ASSERT_EQ(outcome.tasks[0].runs.size(), replicas);
    for (const market::Run& run : outcome.tasks[0].runs) {
        const bool mine = outcome.solver_of(run) == "solver" + std::to_string(honest);
        EXPECT_EQ(run.state, mine ? RunState::settled : RunState::forfeited);
    }
    EXPECT_EQ(outcome.tasks[0].true_root, outcome.tasks[0].paid_root);
}

INSTANTIATE_TEST_SUITE_P(ThreeToFive, HonestMinority,
                         ::testing::Values(Crowd{3, 0}, Crowd{3, 1}, Crowd{3, 2}, Crowd{4, 0}, Crowd{4, 3}, Crowd{5, 0},
                                           Crowd{5, 2}, Crowd{5, 4}),
                         [](const auto& info) {
                             return std::to_string(info.param.replicas) + "_" + std::to_string(info.param.honest);
                         });

/// A replica that joins a running task is paid for states that were not public yet. It joins only where that is sure to
/// be worth its price: in a task with more left than the others compute during the auction.
TEST(Replicas, FiveHonestOnesAllSettle) {
    for (const bool raised : {false, true}) {
        SCOPED_TRACE(raised ? "three, raised to five" : "five from the start");
        Scenario scenario = calm_scenario();
        scenario.planned_tasks[0].replicas = raised ? 3 : 5;
        scenario.planned_tasks[0].steps = raised ? 60 : 24;
        if (raised) scenario.planned_tasks[0].raise_to = 5;
        constexpr std::uint64_t kAsked = 6'000;
        scenario.solvers.assign(5, *solver_named("honest"));
        for (SolverRole& role : scenario.solvers) {
            role.price_bp = kAsked;
            if (raised) role.speed_bp = 2 * kJustAllowed;
        }
        const Outcome outcome = play(3, scenario, catalogue(), {});
        expect_replicas_settled(outcome);
        EXPECT_THAT(outcome.findings.unpaid_work, ::testing::IsEmpty());
        ASSERT_EQ(outcome.tasks[0].runs.size(), 5u);
        const market::TaskSpec& spec = outcome.tasks[0].spec;
        const ledger::U256 asked = ledger::mul_div(spec.price_ceiling, kAsked, market::kBasisPoints);
        for (const market::Run& run : outcome.tasks[0].runs) {
            EXPECT_EQ(run.state, RunState::settled);
            EXPECT_EQ(run.joined, raised && run.index >= 3);
            EXPECT_EQ(run.first_state < run.not_awaited_below, run.joined);  // Only for a run that joined, states may
                                                                             // have been public.
            EXPECT_GE(run.earned, asked * ledger::U256(spec.segments()));
        }
        EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
        EXPECT_EQ(outcome.tasks[0].true_root, outcome.tasks[0].paid_root);
    }
}

TEST(Replicas, AnAuditThatEndedWithoutAVerdictInADisputeGoesOnAfterIt) {
    Scenario scenario = calm_scenario();
    scenario.verifiers.assign(3, *verifier_named("never_reveals"));
    scenario.planned_tasks[0].allow_unaudited =
        true;  // Otherwise audits are repeated as long as these verifiers have bonds
               // to lose.
    scenario.planned_tasks[0].replicas = 2;
    scenario.solvers[0].price_bp = 5'000;  // Run 0, which is accused by the other.
    scenario.solvers[1] = *solver_named("ulp");
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_replicas_settled(outcome);
    EXPECT_EQ(outcome.tasks[0].runs.at(0).state, RunState::settled);
    EXPECT_EQ(outcome.tasks[0].runs.at(1).state, RunState::forfeited);
}

}  // namespace
}  // namespace retrace::sim
