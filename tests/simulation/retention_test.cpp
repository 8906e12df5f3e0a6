// SPDX-License-Identifier: MIT
// Solvers that pay keepers for states, with the product's views and agents on both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using market::RunState;
using ::testing::IsEmpty;

/// A task so long that most of it is finalised before its last segment is audited; few segments in between are audited.
Scenario long_task() {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].steps = 120;
    scenario.planned_tasks[0].interval = 1;
    scenario.planned_tasks[0].audit_bp = 500;
    scenario.solvers[0].price_bp = 5'000;  // The cheapest bid, which wins.
    scenario.solvers[0].pays_for_retention = true;
    return scenario;
}

struct Seen {
    Outcome outcome;
    std::size_t offers = 0, kept = 0, payments = 0;
};
Seen watch(std::uint64_t seed, const Scenario& scenario) {
    Seen seen;
    RunOptions options;
    options.sink = [&](const std::string& line) {
        const auto says = [&](const char* event) { return line.find(event) != std::string::npos ? 1u : 0u; };
        seen.offers += says("RetentionRequested");
        seen.kept += says("RetentionAttested");
        seen.payments += says("SegmentsPaid");
    };
    seen.outcome = play(seed, scenario, catalogue(), options);
    EXPECT_THAT(seen.outcome.findings.violations, IsEmpty()) << "seed " << seed;
    EXPECT_EQ(seen.outcome.tasks.at(0).state, market::TaskState::settled) << "seed " << seed;
    return seen;
}

TEST(Retention, OffersAreMadeAndTakenAfterTheFirstAuditWasPaid) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        Scenario scenario = long_task();
        scenario.planned_tasks[0].audit_bp = 100;  // Few audits, so that auditors keep hardly any states.
        const Seen paying = watch(seed, scenario);
        scenario.solvers[0].pays_for_retention = false;
        const Seen waiting = watch(seed, scenario);
        EXPECT_EQ(waiting.offers, 0u);
        EXPECT_GE(paying.offers, 1u) << "seed " << seed;
        EXPECT_GT(paying.kept, waiting.kept) << "seed " << seed;
        EXPECT_GT(paying.payments, waiting.payments) << "seed " << seed;
        EXPECT_EQ(paying.outcome.tasks[0].true_root, paying.outcome.tasks[0].paid_root);
    }
}

TEST(Retention, ASuccessorStartsFromTheStateThatWasPaidFor) {
    Scenario scenario = long_task();
    scenario.planned_tasks[0].steps =
        300;  // Leaves time for offers between the end of the first audit and the silence.
    scenario.planned_tasks[0].audit_bp = 100;  // Few audits, so that auditors keep hardly any states.
    scenario.solvers[0] = *solver_named("silent");
    scenario.solvers[0].segment = 240;
    scenario.solvers[0].price_bp = 5'000;
    scenario.solvers[0].pays_for_retention = true;
    const Seen seen = watch(1, scenario);
    scenario.solvers[0].pays_for_retention = false;
    const Seen unpaid = watch(1, scenario);
    const auto& runs = seen.outcome.tasks.at(0).runs;
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].state, RunState::forfeited);
    EXPECT_GT(runs[0].paid, unpaid.outcome.tasks.at(0).runs.at(0).paid);
    EXPECT_EQ(runs[1].first_state, runs[0].paid);
    EXPECT_EQ(runs[1].state, RunState::settled);
    EXPECT_EQ(seen.outcome.tasks[0].true_root, seen.outcome.tasks[0].paid_root);
}

}  // namespace
}  // namespace retrace::sim
