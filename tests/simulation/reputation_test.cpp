// SPDX-License-Identifier: MIT
// Who tries to make a standing, or to get rid of a bad one, against honest parties: many accounts, work that an owner buys
// from itself, and a new account after a loss. Market 13.4 says what each costs. SPEC 6.8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::RunState;
using market::TaskState;
using ::testing::IsEmpty;

constexpr std::uint16_t kAll = 10'000;
constexpr std::uint8_t kAuditors = 2;

/// A task of four segments, all of them audited.
PlannedTask audited_task(std::uint64_t at_height) {
    PlannedTask out;
    out.audit_bp = kAll;
    out.auditors = kAuditors;
    out.at_height = at_height;
    return out;
}
market::TaskSpec spec_of(const PlannedTask& planned) {
    market::TaskSpec spec;
    spec.price_ceiling = U256(10 * market::kMilli);
    spec.audit_bp = planned.audit_bp;
    spec.auditors = planned.auditors;
    spec.steps = planned.steps;
    spec.interval = planned.interval;
    return spec;
}
/// The fee of one auditor of one segment, and what a bid locks.
U256 fee_of(const PlannedTask& planned) { return market::audit_fee(simulated_params(), spec_of(planned)); }
U256 lock_of(const PlannedTask& planned) { return *market::stake_floor(simulated_params(), spec_of(planned)); }
U256 fees_of_tasks(const PlannedTask& planned, std::uint64_t tasks) {
    return fee_of(planned) * U256(tasks * kAuditors * (planned.steps / planned.interval));
}

SolverRole owned_solver(std::uint64_t price_bp) {
    SolverRole role = *solver_named("honest");
    role.owned = true;
    role.price_bp = price_bp;
    return role;
}

Outcome played(const Scenario& scenario, std::uint64_t seed = 1) {
    const Outcome outcome = play(seed, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty()) << "seed " << seed;
    for (const auto& task : outcome.tasks) EXPECT_EQ(task.state, TaskState::settled) << "seed " << seed;
    return outcome;
}
U256 verified(const Outcome& outcome, const std::string& name) { return outcome.standings.at(name).verified; }

/// Fees that were paid to auditors of a solver's runs, but for those whose owner is in `owned`.
U256 fees_for(const Outcome& outcome, const Scenario& scenario, const std::string& solver, bool only_strangers) {
    U256 out;
    for (const market::Audit& audit : outcome.audits) {
        const auto& task = outcome.tasks.at(audit.task - 1);
        if (outcome.solver_of(task.runs.at(audit.run)) != solver) continue;
        for (const market::Seat& seat : audit.seats)
            if (seat.paid && !(only_strangers && scenario.owned.contains(outcome.names.at(seat.auditor))))
                out += market::audit_fee(scenario.params, task.spec);
    }
    return out;
}

/// Three tasks in turn, and `accounts` owned solvers. Each comes before another task and underbids those before it.
Scenario identities(std::size_t accounts) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks.clear();
    for (std::uint64_t i = 0; i < 3; ++i) scenario.planned_tasks.push_back(audited_task(60 + 400 * i));
    for (std::size_t i = 0; i < accounts; ++i) {
        scenario.owned.insert("solver" + std::to_string(scenario.solvers.size()));
        scenario.solvers.push_back(owned_solver(5'000 - 200 * i));
        scenario.solvers.back().comes_at = 10 + 400 * i;
    }
    return scenario;
}
U256 standing_of_owner(const Outcome& outcome, const Scenario& scenario) {
    U256 out;
    for (const std::string& name : scenario.owned) out += verified(outcome, name);
    return out;
}

TEST(Reputation, ManyAccountsHaveTogetherWhatOneHas) {
    const Scenario alone = identities(1), many = identities(3);
    const U256 fees = fees_of_tasks(alone.planned_tasks[0], 3);
    const Outcome one = played(alone), three = played(many);
    EXPECT_EQ(standing_of_owner(one, alone), fees) << "it won all three tasks";
    EXPECT_EQ(standing_of_owner(three, many), fees);
    for (const std::string& name : many.owned) {
        EXPECT_EQ(verified(three, name), fees / U256(3))
            << name << " has that of its own work, and none of the others'";
        EXPECT_EQ(verified(three, name), fees_for(three, many, name, false));
    }
    for (const char* name : {"solver0", "solver1", "requester", "verifier0", "verifier1", "verifier2"}) {
        EXPECT_EQ(one.standings.at(name), market::Standing{}) << name << " was not audited";
    }
    EXPECT_GT(one.balances.at("solver2").wealth(), initial_coins()) << "an honest standing costs nothing";
}

/// One seed in which an owner with 2/5 of the members' stake buys sixteen segments from itself.
Scenario self_dealing() {
    Scenario scenario = calm_scenario();
    scenario.requesters = 2;
    scenario.bad_requesters.insert(1);
    scenario.owned = {"requester1", "solver2", "verifier3", "verifier4"};
    scenario.solvers.push_back(owned_solver(1));
    for (int i = 0; i < 2; ++i) scenario.verifiers.push_back(scenario.verifiers.front());
    PlannedTask planned = audited_task(40);
    planned.requester = 1;
    planned.steps = 32;
    planned.finish_blocks = 2'000;
    scenario.planned_tasks = {planned};
    return scenario;
}

TEST(Reputation, WorkThatAnOwnerBuysFromItselfCostsWhatStrangersArePaidForChecking) {
    constexpr std::uint64_t kSeeds = 4;
    const Scenario scenario = self_dealing();
    U256 standing, cost;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Outcome outcome = played(scenario, seed);
        ASSERT_EQ(outcome.solver_of(outcome.tasks.at(0).runs.at(0)), "solver2");
        EXPECT_EQ(verified(outcome, "solver2"), fees_of_tasks(scenario.planned_tasks[0], 1));
        U256 left;
        for (const std::string& name : scenario.owned) left += outcome.balances.at(name).wealth();
        const U256 lost = initial_coins() * U256(scenario.owned.size()) - left;
        EXPECT_EQ(lost, fees_for(outcome, scenario, "solver2", true)) << "it pays the strangers, to the unit";
        standing += verified(outcome, "solver2");
        cost += lost;
    }
    // Market 13.4.2: one unit of standing costs at least the strangers' share of the stake, here 3/5. 128 seats were drawn,
    // so the draw is within 15 % of it.
    EXPECT_GE(cost * U256(100), standing * U256(51));
    EXPECT_LE(cost * U256(100), standing * U256(69)) << "else the draw is no draw by stake";

    Scenario honest = scenario;  // The same work for somebody else.
    honest.planned_tasks[0].requester = 0;
    const Outcome paid = played(honest);
    EXPECT_EQ(verified(paid, "solver2") * U256(kSeeds), standing) << "the same standing";
    EXPECT_GT(paid.balances.at("solver2").wealth(), initial_coins()) << "which brings coins instead";
}

/// Three tasks in turn. `first` underbids the others in the first two and loses its run in the second; then `second`, a new
/// account of the same owner, works.
Scenario comes_back(std::string_view fraud) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks = {audited_task(40), audited_task(400), audited_task(1'500)};
    SolverRole first = *solver_named(fraud);
    first.owned = true;
    first.price_bp = 5'000;
    first.task = 2;
    SolverRole second = owned_solver(4'000);
    second.comes_at = 1'400;
    scenario.owned = {"solver2", "solver3"};
    scenario.solvers.push_back(first);
    scenario.solvers.push_back(second);
    return scenario;
}

TEST(Reputation, ANewAccountAfterAConvictionHasNoMoreThanTheOldOneWouldHave) {
    const Scenario scenario = comes_back("ulp");
    const PlannedTask& planned = scenario.planned_tasks[0];
    const Outcome outcome = played(scenario);
    ASSERT_EQ(outcome.tasks.size(), 3u);
    ASSERT_EQ(outcome.solver_of(outcome.tasks[0].runs.at(0)), "solver2");
    ASSERT_EQ(outcome.solver_of(outcome.tasks[1].runs.at(0)), "solver2");
    ASSERT_EQ(outcome.tasks[1].runs[0].state, RunState::forfeited);
    ASSERT_EQ(outcome.solver_of(outcome.tasks[2].runs.at(0)), "solver3");
    EXPECT_GE(fees_for(outcome, scenario, "solver2", false), fees_of_tasks(planned, 1))
        << "it had a standing, of its first task";
    EXPECT_EQ(verified(outcome, "solver2"), U256()) << "a conviction leaves nothing of it";
    EXPECT_EQ(outcome.standings.at("solver2").lost, lock_of(planned));
    EXPECT_EQ(outcome.solvers.at("solver2").reputation.faults, 1u);
    EXPECT_EQ(verified(outcome, "solver3"), fees_of_tasks(planned, 1)) << "of its own task alone";
    EXPECT_EQ(outcome.standings.at("solver3").lost, U256()) << "losses do not follow: a reader judges by `verified`";

    Scenario stays = scenario;  // The same work without the fraud, by one account.
    stays.solvers[2] = owned_solver(5'000);
    stays.solvers.pop_back();
    stays.owned = {"solver2"};
    const Outcome honest = played(stays);
    EXPECT_EQ(verified(honest, "solver2"), fees_of_tasks(planned, 3));
    EXPECT_EQ(standing_of_owner(outcome, scenario) * U256(3), verified(honest, "solver2"))
        << "two of three tasks' standing are gone, and a lock";
}

/// Auditors may get the bits of what a forger computes from its own wrong state, and are paid after its conviction.
TEST(Reputation, VerdictsThatArePaidAfterAConvictionAreNoStanding) {
    for (const std::uint64_t segment : {0, 1, 2}) {
        Scenario scenario = comes_back("ulp");
        scenario.solvers.pop_back();
        scenario.planned_tasks.resize(2);
        scenario.solvers[2].segment = segment;
        scenario.owned = {"solver2"};
        const Outcome outcome = played(scenario);
        ASSERT_EQ(outcome.tasks.at(1).runs.at(0).state, RunState::forfeited);
        EXPECT_EQ(outcome.solver_of(outcome.tasks[1].runs[0]), "solver2");
        EXPECT_EQ(verified(outcome, "solver2"), U256()) << "wrong from segment " << segment << " on";
    }
}

TEST(Reputation, ANewAccountAfterASilenceIsWorseThanTheOldOne) {
    const Scenario scenario = comes_back("silent");
    const PlannedTask& planned = scenario.planned_tasks[0];
    const Outcome outcome = played(scenario);
    ASSERT_EQ(outcome.solver_of(outcome.tasks.at(1).runs.at(0)), "solver2");
    ASSERT_EQ(outcome.tasks[1].runs[0].state, RunState::forfeited);
    const U256 kept = verified(outcome, "solver2");
    EXPECT_GT(kept, U256()) << "a silence halves it";
    EXPECT_LE(kept * U256(2), fees_for(outcome, scenario, "solver2", false));
    EXPECT_EQ(verified(outcome, "solver3"), fees_of_tasks(planned, 1)) << "the new one begins with nothing";
    Scenario stays = scenario;
    stays.solvers.pop_back();
    stays.owned = {"solver2"};
    EXPECT_GT(verified(played(stays), "solver2"), verified(outcome, "solver3")) << "whoever stays has both";
}

}  // namespace
}  // namespace retrace::sim
