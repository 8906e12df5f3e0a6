// SPDX-License-Identifier: MIT
// Reservations that are honoured, broken and not used, with the product's views and agents: what each side has then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/odds.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::RunState;
using market::TaskState;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const U256 kDeposit(100 * market::kMilli);

U256 end_of(const Outcome& outcome, const std::string& name) { return outcome.balances.at(name).wealth(); }
/// Coins that the verifiers earned.
U256 of_verifiers(const Outcome& outcome) {
    U256 sum;
    for (const auto& [name, balance] : outcome.balances)
        if (name.starts_with("verifier")) sum += balance.wealth() - initial_coins();
    return sum;
}

/// The requester reserves the time of solver0. Solver1 bids in the auction, if there is one.
Scenario reserved_task() {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].reserved = PlannedReservation{.solver = 0, .deposit = kDeposit};
    return scenario;
}

Outcome play_well(std::uint64_t seed, const Scenario& scenario) {
    Outcome outcome = play(seed, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty()) << "seed " << seed;
    return outcome;
}

TEST(Reservations, AnHonestSolverTakesTheTaskAtItsPriceWithoutAnAuction) {
    const Outcome outcome = play_well(1, reserved_task());
    const auto& task = outcome.tasks.at(0);
    EXPECT_EQ(task.state, TaskState::settled);
    EXPECT_EQ(task.final_root, task.true_root);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver0");
    EXPECT_EQ(task.runs[0].price, task.spec.price_ceiling);
    EXPECT_EQ(end_of(outcome, "solver0"), initial_coins() + task.runs[0].earned);
    EXPECT_EQ(end_of(outcome, "requester") + task.runs[0].earned + of_verifiers(outcome), initial_coins());
}

/// It takes the deposit from the requester, and loses as much: whom it hurts, it pays for.
TEST(Reservations, ASolverThatDoesNotComeLosesWhatItTakes) {
    for (const bool declines : {false, true}) {
        SCOPED_TRACE(declines);
        Scenario scenario = reserved_task();
        (declines ? scenario.solvers[0].declines_reserved : scenario.solvers[0].stays_away) = true;
        const Outcome outcome = play_well(1, scenario);
        const auto& task = outcome.tasks.at(0);
        EXPECT_EQ(task.state, TaskState::settled) << "another solver trains it";
        EXPECT_EQ(task.final_root, task.true_root);
        ASSERT_EQ(task.runs.size(), 2u);
        EXPECT_EQ(task.runs[0].state, declines ? RunState::left : RunState::forfeited);
        EXPECT_EQ(outcome.solver_of(task.runs[1]), "solver1");
        EXPECT_EQ(end_of(outcome, "solver0") + kDeposit, initial_coins());
        EXPECT_EQ(end_of(outcome, "solver1"), initial_coins() + task.runs[1].earned);
        EXPECT_EQ(end_of(outcome, "requester") + kDeposit + task.runs[1].earned + of_verifiers(outcome),
                  initial_coins());
    }
}

TEST(Reservations, ARequesterThatDoesNotBeginPaysTheSolver) {
    Scenario scenario = reserved_task();
    scenario.planned_tasks[0].reserved->is_used = false;
    scenario.bad_requesters = {0};
    scenario.solvers[0].price_bp = 9'500;  // Solver1 wins the task, which is posted for all afterwards.
    const Outcome outcome = play_well(1, scenario);
    const auto& task = outcome.tasks.at(0);
    EXPECT_EQ(task.state, TaskState::settled);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(outcome.solver_of(task.runs[0]), "solver1");
    EXPECT_EQ(end_of(outcome, "solver0"), initial_coins() + kDeposit);
    EXPECT_EQ(end_of(outcome, "requester") + kDeposit + task.runs[0].earned + of_verifiers(outcome), initial_coins());
}

/// Whoever was at fault: a requester that serves no data takes from the solver what it loses itself.
TEST(Reservations, ARequesterThatServesNothingLosesWhatItTakes) {
    Scenario scenario = reserved_task();
    scenario.planned_tasks[0].fraud = RequesterFraud::no_upload;
    scenario.bad_requesters = {0};
    const Outcome outcome = play_well(1, scenario);
    EXPECT_EQ(outcome.tasks.at(0).state, TaskState::expired);
    EXPECT_EQ(end_of(outcome, "solver0") + kDeposit, initial_coins());
    EXPECT_EQ(end_of(outcome, "requester") + kDeposit, initial_coins());
    EXPECT_EQ(end_of(outcome, "solver1"), initial_coins());
    EXPECT_EQ(outcome.solvers.at("solver0").reputation.silences, 0u) << "and spoils no record";
}

TEST(Reservations, AnOwnerThatReservesItsOwnSolverGainsNothing) {
    for (const bool is_used : {true, false})
        for (const bool comes : {true, false}) {
            SCOPED_TRACE(testing::Message() << "used " << is_used << ", comes " << comes);
            Scenario scenario = reserved_task();
            scenario.owned = {"requester", "solver0"};
            scenario.bad_requesters = {0};
            scenario.planned_tasks[0].reserved->is_used = is_used;
            scenario.solvers[0].owned = true;
            scenario.solvers[0].stays_away = !comes;
            const Outcome outcome = play_well(1, scenario);
            U256 to_others = of_verifiers(outcome);
            for (const market::Run& run : outcome.tasks.at(0).runs)
                if (outcome.solver_of(run) != "solver0") to_others += run.earned;
            const U256 burned = is_used && !comes ? kDeposit + kDeposit : U256();
            EXPECT_EQ(end_of(outcome, "requester") + end_of(outcome, "solver0") + to_others + burned,
                      initial_coins() + initial_coins());
            EXPECT_FALSE(of_verifiers(outcome).is_zero()) << "the audits of its task are paid";
        }
}

/// The deposit returns, nothing is lost, and the task is posted for all afterwards.
TEST(Reservations, AnOfferThatNobodyAcceptsIsTakenBack) {
    Scenario scenario = reserved_task();
    scenario.solvers[0].ignores_offers = true;
    const Outcome outcome = play_well(1, scenario);
    ASSERT_EQ(outcome.reservations.size(), 1u);
    EXPECT_EQ(outcome.reservations[0].state, market::ReservationState::lapsed);
    const auto& task = outcome.tasks.at(0);
    EXPECT_EQ(task.state, TaskState::settled);
    ASSERT_EQ(task.runs.size(), 1u);
    EXPECT_EQ(end_of(outcome, "requester") + task.runs[0].earned + of_verifiers(outcome), initial_coins());
}

/// The requester takes its offer back when it sees it, as the solver accepts it then: the first call in the block counts.
TEST(Reservations, AnOfferIsWithdrawnOrAcceptedWhicheverCallComesFirst) {
    std::map<market::ReservationState, std::uint64_t> ends;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(seed);
        Scenario scenario = reserved_task();
        scenario.planned_tasks[0].reserved->withdraw_at = 1;
        const Outcome outcome = play_well(seed, scenario);
        ASSERT_EQ(outcome.reservations.size(), 1u);
        ++ends[outcome.reservations[0].state];
        const auto& task = outcome.tasks.at(0);
        EXPECT_EQ(task.state, TaskState::settled);
        ASSERT_EQ(task.runs.size(), 1u);
        EXPECT_EQ(end_of(outcome, "requester") + task.runs[0].earned + of_verifiers(outcome), initial_coins());
    }
    EXPECT_GT(ends[market::ReservationState::withdrawn], 0u);
    EXPECT_GT(ends[market::ReservationState::honoured], 0u);
}

TEST(Reservations, ADepositThatGoesToTheWrongPartyIsSeen) {
    Scenario scenario = reserved_task();
    scenario.planned_tasks[0].reserved->is_used = false;
    RunOptions options;
    options.sabotage = Sabotage::spare_deposit;
    EXPECT_THAT(play(1, scenario, catalogue(), options).findings.violations,
                Contains(HasSubstr("a party did not get the deposit of a reservation that ended")));
}

/// A scenario for each way in which a reservation ends.
std::map<market::ReservationState, Scenario> all_ends() {
    using market::ReservationState;
    std::map<ReservationState, Scenario> out;
    for (const ReservationState end : {ReservationState::honoured, ReservationState::broken, ReservationState::unused,
                                       ReservationState::lapsed, ReservationState::withdrawn})
        out[end] = reserved_task();
    out[ReservationState::broken].solvers[0].declines_reserved = true;
    out[ReservationState::unused].planned_tasks[0].reserved->is_used = false;
    out[ReservationState::unused].bad_requesters = {0};
    out[ReservationState::lapsed].solvers[0].ignores_offers = true;
    out[ReservationState::withdrawn].solvers[0].ignores_offers = true;
    out[ReservationState::withdrawn].planned_tasks[0].reserved->withdraw_at = 1;
    return out;
}

/// The books are compared to the last unit, in each way in which a reservation ends, and a unit too much is found.
TEST(Reservations, AUnitTooMuchIsSeenHoweverTheReservationEnds) {
    for (const auto& [end, scenario] : all_ends()) {
        SCOPED_TRACE(market::slug(end));
        const Outcome whole = play_well(1, scenario);
        ASSERT_EQ(whole.reservations.size(), 1u);
        EXPECT_EQ(whole.reservations[0].state, end);
        EXPECT_GT(whole.findings.reservations.exactly, 0u);
        EXPECT_EQ(whole.findings.reservations.at_least, 0u) << "nothing else pays these parties then";
        RunOptions options;
        options.sabotage = Sabotage::wrong_wei;
        options.sabotage_height = 1;
        EXPECT_THAT(play(1, scenario, catalogue(), options).findings.violations,
                    Contains(HasSubstr("a party has more coins than its reservations and transactions explain")));
    }
}

/// Losses, outages and crashes within the bounds of the simulation cost nobody a deposit. The checkers follow each deposit
/// in every run, whatever becomes of the reservation.
TEST(Reservations, HoldThroughOutagesAndWithAdversaries) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        Scenario scenario = reserved_task();
        scenario.outages = random_outages(random, scenario.parties());
        scenario.network.loss_permille = 40;
        const Outcome honest = play_well(seed, scenario);
        EXPECT_EQ(honest.tasks.at(0).runs.size(), 1u) << "it is honoured";
        EXPECT_EQ(honest.solver_of(honest.tasks[0].runs[0]), "solver0");
        scenario.solvers[0].stays_away = seed % 2 == 0;
        scenario.planned_tasks[0].reserved->is_used = seed % 3 != 0;
        if (seed % 5 == 0) scenario.planned_tasks[0].fraud = RequesterFraud::no_upload;
        scenario.bad_requesters = {0};
        play_well(seed, scenario);
    }
}

/// The seeds of the simulation, with all their adversaries, the first task of each reserved.
TEST(Reservations, HoldInTheScenariosOfSeeds) {
    std::map<market::ReservationState, std::uint64_t> ends;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed ^ 0x4e5e47edu);
        Scenario scenario = random_scenario(seed);
        PlannedTask& planned = scenario.planned_tasks[0];
        planned.replicas = 1;
        planned.raise_to = 0;
        // No machine finds the task too much for its measured speed when it fetches the program: that breaks its word.
        planned.checkpoint_blocks = 80;
        planned.replay_blocks = 40;
        const std::uint64_t from = planned.at_height + random.between(30, 60);
        planned.reserved = PlannedReservation{.solver = random.below(scenario.solvers.size()),
                                              .deposit = U256(random.between(1, 20)),
                                              .from = from,
                                              .until = from + random.between(30, 60),
                                              .is_used = random.chance(800)};
        if (!planned.reserved->is_used || planned.fraud != RequesterFraud::none) scenario.bad_requesters = {0};
        SolverRole& solver = scenario.solvers[planned.reserved->solver];
        if (!solver.honest()) (random.chance(500) ? solver.stays_away : solver.declines_reserved) = random.chance(500);
        const Outcome outcome = play_well(seed, scenario);
        for (const market::Reservation& reservation : outcome.reservations) ++ends[reservation.state];
    }
    for (const auto end :
         {market::ReservationState::honoured, market::ReservationState::broken, market::ReservationState::unused})
        EXPECT_GT(ends[end], 0u) << market::slug(end);
}

}  // namespace
}  // namespace retrace::sim
