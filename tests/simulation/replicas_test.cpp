// SPDX-License-Identifier: MIT
// Redundancy: whoever is alone in being right wins, and nothing waits for a quarrel that is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using market::RunState;
using market::TaskState;

const Catalogue& catalogue() {
    static const Catalogue made = make_catalogue();
    return made;
}

void expect_settled(const Outcome& outcome) {
    EXPECT_THAT(outcome.verdicts.violations, ::testing::IsEmpty());
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, TaskState::settled);
}

TEST(Replicas, an_honest_minority_of_one_wins) {
    for (const std::size_t honest : {0, 1, 2}) {
        SCOPED_TRACE("the honest one is solver " + std::to_string(honest));
        Scenario scenario = calm_scenario();
        // Nobody but the replicas looks: the verifiers collude.
        scenario.verifiers.assign(2, *verifier_named("colluder"));
        scenario.orders[0].replicas = 3;
        scenario.solvers.assign(3, *solver_named("hyper_parameter"));
        scenario.solvers[honest] = *solver_named("honest");
        for (std::size_t i = 0; i < 3; ++i) scenario.solvers[i].price_bp = 5'000 + 1'000 * i;
        const Outcome outcome = play(2, scenario, catalogue(), {});
        expect_settled(outcome);
        ASSERT_EQ(outcome.tasks[0].runs.size(), 3u);
        for (const market::Run& run : outcome.tasks[0].runs) {
            const bool mine = outcome.solver_of(run) == "solver" + std::to_string(honest);
            EXPECT_EQ(run.state, mine ? RunState::settled : RunState::forfeited);
        }
        EXPECT_EQ(outcome.tasks[0].true_root, outcome.tasks[0].paid_root);
    }
}

TEST(Replicas, an_audit_that_ended_without_a_verdict_in_a_dispute_goes_on_after_it) {
    Scenario scenario = calm_scenario();
    scenario.verifiers.assign(3, *verifier_named("never_reveals"));
    scenario.orders[0].replicas = 2;
    scenario.solvers[0].price_bp = 5'000;  // Run 0, which the other accuses.
    scenario.solvers[1] = *solver_named("ulp");
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    EXPECT_EQ(outcome.tasks[0].runs.at(0).state, RunState::settled);
    EXPECT_EQ(outcome.tasks[0].runs.at(1).state, RunState::forfeited);
}

}  // namespace
}  // namespace retrace::sim
