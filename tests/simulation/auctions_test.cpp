// SPDX-License-Identifier: MIT
// Tasks whose ceiling rises by their terms while nobody wins, with the product's views and agents, and solvers that wait for
// the end of the curve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/escrow.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::TaskState;
using ::testing::IsEmpty;

const U256 kFirst(10 * market::kMilli), kMiddle(15 * market::kMilli), kLast(20 * market::kMilli);

/// Three auctions, whose ceilings are kFirst, kMiddle and kLast. Solvers ask for four fifths of the ceiling.
Scenario rising(std::uint8_t auctions = 3) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].auctions = auctions;
    return scenario;
}

Outcome played(const Scenario& scenario) {
    Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    EXPECT_THAT(outcome.findings.unpaid_work, IsEmpty());
    return outcome;
}

TEST(RisingCeiling, TheFirstThatBidsHasTheTaskAndWhoWaitsHasNothing) {
    Scenario scenario = rising();
    scenario.solvers[1].waits_for = kLast;
    const Outcome outcome = played(scenario);
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver0");
    EXPECT_EQ(task.runs[0].price, kFirst) << "without a second bid the ceiling of the auction";
    EXPECT_EQ(task.state, TaskState::settled);
    EXPECT_EQ(outcome.balances.at("solver1").wealth(), initial_coins());
}

/// All have to wait, and then they compete with one another.
TEST(RisingCeiling, IfAllWaitTheRequesterPaysTheSecondBidInTheLastAuction) {
    Scenario scenario = rising();
    scenario.solvers[0].waits_for = scenario.solvers[1].waits_for = kLast;
    scenario.solvers[1].price_bp = 9'000;
    const Outcome outcome = played(scenario);
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver0");
    EXPECT_EQ(task.runs[0].price, ledger::mul_div(kLast, 9'000, market::kBasisPoints));
    EXPECT_EQ(task.spec.price_ceiling, kLast);
    EXPECT_EQ(task.state, TaskState::settled);
}

/// Who waits for more than the terms promise leaves the task to nobody, and the escrow returns.
TEST(RisingCeiling, WaitingForMoreThanTheLastCeilingEarnsNothing) {
    Scenario scenario = rising();
    for (SolverRole& solver : scenario.solvers) solver.waits_for = kLast + U256(1);
    const Outcome outcome = played(scenario);
    EXPECT_EQ(outcome.tasks.at(0).state, TaskState::expired);
    EXPECT_EQ(outcome.balances.at("requester").wealth(), initial_coins());
}

/// One that waits is beaten in the auction before the one that it waits for by who needs only that ceiling.
TEST(RisingCeiling, WhoNeedsLessThanTheOthersWaitForHasItBeforeThem) {
    Scenario scenario = rising();
    scenario.solvers[0].waits_for = kLast;
    scenario.solvers[1].waits_for = kMiddle;
    const Outcome outcome = played(scenario);
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver1");
    EXPECT_EQ(task.runs[0].price, kMiddle);
}

/// A winner that declines, which costs it nothing, raises no ceiling for its accomplice, which waits.
TEST(RisingCeiling, AnAccompliceThatDeclinesRaisesNothing) {
    Scenario scenario = rising();
    scenario.solvers[0].gives_up = true;
    scenario.solvers[1].waits_for = kMiddle;
    const Outcome outcome = played(scenario);
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 2u);
    EXPECT_EQ(task.runs[0].price, kFirst);
    EXPECT_EQ(outcome.solver_of(task.runs[1]), "solver1");
    EXPECT_EQ(task.runs[1].price, kMiddle) << "after an auction in which it did not bid, as without the accomplice";
}

}  // namespace
}  // namespace retrace::sim
