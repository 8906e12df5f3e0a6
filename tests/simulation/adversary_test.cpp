// SPDX-License-Identifier: MIT
// Plays each adversary by name against honest parties on a calm chain, and checks how the task ends and what every
// party has then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "market/places.hpp"
#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;
using market::RunState;
using market::TaskState;
using ::testing::IsEmpty;

const market::Params kParams = simulated_params();
const U256 kCeiling(10 * market::kMilli);

U256 wealth(const Outcome& outcome, const std::string& name) { return outcome.balances.at(name).wealth(); }
U256 earned(const Outcome& outcome, std::size_t run) { return outcome.tasks.at(0).runs.at(run).earned; }

U256 wealth_of_all(const Outcome& outcome, std::string_view role) {
    U256 sum;
    for (const auto& [name, balance] : outcome.balances)
        if (name.starts_with(role)) sum += wealth(outcome, name);
    return sum;
}
/// Fees of the reports that the solver of a run answered, which it earns.
U256 fees_of_reports(const Outcome& outcome, std::uint32_t run) {
    U256 sum;
    for (const market::Report& report : outcome.reports)
        if (report.run == run && report.state == market::ReportState::answered) sum += report.fee;
    return sum;
}
market::TaskSpec posted_spec(const Scenario& scenario) {
    market::TaskSpec spec;
    spec.price_ceiling = kCeiling;
    spec.audit_bp = scenario.planned_tasks[0].audit_bp;
    spec.auditors = scenario.planned_tasks[0].auditors;
    return spec;
}

/// Checks that hold with any adversary: no violation, and the task settled with the true model.
void expect_settled(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, TaskState::settled);
    EXPECT_EQ(outcome.tasks[0].final_root, outcome.tasks[0].true_root);
}

// --- solvers ---

enum class Loses { nothing, whole_lock };
struct SolverCase {
    const char* name;
    RunState end;
    Loses loses;
};

/// Checks where every coin is after `solver2` won the first run, and lost its lock or did not.
void expect_balances(const Outcome& outcome, const Scenario& scenario, Loses loses) {
    const market::Run& run = outcome.tasks.at(0).runs.at(0);
    const U256 lock = *market::stake_floor(kParams, posted_spec(scenario));
    const U256 loss = loses == Loses::whole_lock ? lock : U256();
    const U256 fees = fees_of_reports(outcome, 0);
    EXPECT_EQ(outcome.balances.at("solver2").bonded, scenario.solvers[2].stake - loss);
    EXPECT_EQ(wealth(outcome, "solver2") + loss, initial_coins() + run.earned + fees);

    const bool replaced = run.state != RunState::settled;
    ASSERT_EQ(outcome.tasks[0].runs.size(), replaced ? 2u : 1u);
    for (const char* name : {"solver0", "solver1"})
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.solvers[0].stake);
    U256 earned_by_all = run.earned;
    if (replaced) earned_by_all += earned(outcome, 1);
    EXPECT_EQ(wealth(outcome, "solver0") + wealth(outcome, "solver1") + run.earned,
              initial_coins() + initial_coins() + earned_by_all);

    // If the fraud was proved, or its solver missed a deadline beside a dispute (15.10), challengers receive their
    // share; otherwise the whole lock is burned.
    const auto spec = posted_spec(scenario);
    const market::Conviction parts = market::conviction(lock, market::audit_fee(kParams, spec), kParams);
    const bool accused = loses == Loses::whole_lock && !outcome.disputes.empty();
    const U256 given = accused ? parts.share + parts.costs : U256();
    EXPECT_EQ(wealth(outcome, "requester") + wealth_of_all(outcome, "verifier") + earned_by_all + fees,
              initial_coins() * U256(1 + scenario.verifiers.size()) + given);
    for (std::size_t i = 0; i < scenario.verifiers.size(); ++i)
        EXPECT_EQ(outcome.balances.at("verifier" + std::to_string(i)).bonded, scenario.verifiers[i].stake);
}

class CheatingSolver : public ::testing::TestWithParam<SolverCase> {};

TEST_P(CheatingSolver, EndsAsTheProtocolSays) {
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named(GetParam().name));  // The cheapest bid, which wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    EXPECT_EQ(outcome.tasks[0].runs.at(0).state, GetParam().end);
    expect_balances(outcome, scenario, GetParam().loses);
    const bool disputed = GetParam().loses == Loses::whole_lock && !outcome.disputes.empty();
    EXPECT_EQ(outcome.findings.frauds_convicted, disputed ? 1u : 0u);
    EXPECT_EQ(outcome.findings.frauds_audited, outcome.findings.frauds_convicted);
}

const SolverCase kSolvers[] = {
    {"ulp", RunState::forfeited, Loses::whole_lock},
    {"skip_steps", RunState::forfeited, Loses::whole_lock},
    {"wrong_data", RunState::forfeited, Loses::whole_lock},
    {"data_order", RunState::forfeited, Loses::whole_lock},
    {"stale_checkpoint", RunState::forfeited, Loses::whole_lock},
    {"hyper_parameter", RunState::forfeited, Loses::whole_lock},
    {"commit_early", RunState::forfeited, Loses::whole_lock},
    {"hide", RunState::forfeited, Loses::whole_lock},
    {"silent", RunState::forfeited, Loses::whole_lock},
    {"withhold", RunState::forfeited, Loses::whole_lock},
    {"wrong_tiles", RunState::forfeited, Loses::whole_lock},
    {"answer_late", RunState::forfeited, Loses::whole_lock},
    {"flood", RunState::settled, Loses::nothing},
    {"lie_steps", RunState::forfeited, Loses::whole_lock},
    {"lie_state", RunState::forfeited, Loses::whole_lock},
    {"lie_trace", RunState::forfeited, Loses::whole_lock},
    {"lie_tiles", RunState::forfeited, Loses::whole_lock},
    {"lie_links", RunState::forfeited, Loses::whole_lock},
    {"lie_tile", RunState::forfeited, Loses::whole_lock},
    {"lie_header", RunState::forfeited, Loses::whole_lock},
    {"stop_in_dispute", RunState::forfeited, Loses::whole_lock},
};
INSTANTIATE_TEST_SUITE_P(Table, CheatingSolver, ::testing::ValuesIn(kSolvers),
                         [](const auto& info) { return std::string(info.param.name); });

/// An audited cheater gains nothing by refusing to serve its states, whatever else of it is being disputed.
TEST(Adversaries, ACheaterDoesNotEscapeByWithholding) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].audit_bp = 10'000;
    scenario.solvers.push_back(*solver_named("ulp"));
    scenario.solvers.back().protocol_attack = solver::ProtocolAttack::withhold;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    EXPECT_EQ(outcome.tasks[0].runs.at(0).earned, U256());
    expect_balances(outcome, scenario, Loses::whole_lock);
}

/// Contracts 16.1.13: auditors have their whole time after each answer, so late answers end like missing ones, only
/// later.
TEST(Adversaries, AnswersInTheLastBlockCostNoAuditorAnything) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].audit_bp = 10'000;
    scenario.solvers.push_back(*solver_named("answer_late"));
    const Outcome late = play(1, scenario, catalogue(), {});
    expect_settled(late);
    expect_balances(late, scenario, Loses::whole_lock);
    std::size_t answered = 0;
    for (const market::Report& report : late.reports) {
        if (report.run != 0) continue;
        answered += report.state == market::ReportState::answered ? 1 : 0;
        EXPECT_EQ(report.state, market::ReportState::answered) << "in time, if only just";
    }
    EXPECT_GE(answered, kParams.reports * scenario.planned_tasks[0].auditors) << "every auditor used up its reports";
    EXPECT_EQ(earned(late, 0), U256());
    for (const market::Audit& audit : late.audits)
        for (const market::Seat& seat : audit.seats) EXPECT_NE(seat.state, market::SeatState::missed);
    scenario.solvers[2] = *solver_named("withhold");
    const Outcome soon = play(1, scenario, catalogue(), {});
    EXPECT_GT(late.height, soon.height + kParams.reports * kParams.answer_blocks / 2);
}

/// A seed that failed once: the third solver completes the task after two solvers that serve nothing lost their locks.
TEST(Adversaries, TwoThatWithholdInTurnBothLoseTheirLocks) {
    Scenario scenario = calm_scenario();
    scenario.solvers.assign(3, *solver_named("withhold"));
    scenario.solvers[2] = *solver_named("honest");
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    const U256 lock = *market::stake_floor(kParams, posted_spec(scenario));
    ASSERT_EQ(outcome.tasks[0].runs.size(), 3u);
    for (const char* name : {"solver0", "solver1"}) {
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.solvers[0].stake - lock);
        EXPECT_EQ(
            wealth(outcome, name) + lock,
            initial_coins() + fees_of_reports(outcome, outcome.solver_of(outcome.tasks[0].runs[0]) == name ? 0 : 1))
            << "paid for no segment";
    }
    EXPECT_EQ(wealth(outcome, "solver2"), initial_coins() + earned(outcome, 2));
    EXPECT_EQ(wealth_of_all(outcome, "solver") + wealth_of_all(outcome, "verifier") + wealth(outcome, "requester") +
                  lock + lock,
              initial_coins() * U256(1 + scenario.verifiers.size() + scenario.solvers.size()))
        << "both locks are burned, and nothing else";
}

TEST(Adversaries, EveryNamedSolverIsInTheTable) {
    std::set<std::string> tested;
    for (const SolverCase& entry : kSolvers) tested.insert(entry.name);
    for (const std::string& name : solver_names()) {
        EXPECT_TRUE(solver_named(name)) << name;
        EXPECT_TRUE(tested.contains(name)) << name;
    }
    EXPECT_FALSE(solver_named("nobody"));
    EXPECT_FALSE(verifier_named("nobody"));
}

// --- verifiers ---

struct VerifierCase {
    const char* name;
    const char* solver;  ///< The solver that it audits.
    bool loses_stake;
    bool pays_the_solver;  ///< Fees of reports or bonds.
};
/// Stake lost in audits: a share of the bond for a verdict that was not committed, all of it for one that was not
/// revealed.
U256 lost_in_seats(const Outcome& outcome, const ledger::Address& party) {
    U256 sum;
    for (const market::Audit& audit : outcome.audits)
        for (const market::Seat& seat : audit.seats) {
            if (seat.auditor != party || seat.state != market::SeatState::missed) continue;
            const U256 part = market::split(kParams.audit_bond, kParams.silence_penalty_bp).share;
            sum += seat.commitment.is_zero() ? part : kParams.audit_bond;
        }
    return sum;
}
/// Bonds of disputes that the party lost: a drawn auditor pays from its stake, a challenger from its coins.
U256 lost_in_disputes(const Outcome& outcome, const ledger::Address& party, bool stake) {
    U256 sum;
    for (const market::Dispute& dispute : outcome.disputes) {
        const bool lost = dispute.state == market::DisputeState::challenger_lost;
        if (lost && dispute.challenger == party && (dispute.kind == market::DisputeKind::audit) == stake)
            sum += dispute.bond;
    }
    return sum;
}

/// Coins that the party paid for answered reports.
U256 lost_in_reports(const Outcome& outcome, const ledger::Address& party) {
    U256 sum;
    for (const market::Report& report : outcome.reports)
        if (report.reporter == party && report.state == market::ReportState::answered) sum += report.fee;
    return sum;
}
/// Fees of the audits for which the party was paid.
U256 earned_in_seats(const Outcome& outcome, const Scenario& scenario, const ledger::Address& party) {
    U256 sum;
    for (const market::Audit& audit : outcome.audits)
        for (const market::Seat& seat : audit.seats)
            if (seat.auditor == party && seat.paid) sum += market::audit_fee(kParams, posted_spec(scenario));
    return sum;
}
/// Checks the balance of a cheating verifier at the end, to the last unit.
void expect_purse(const Outcome& outcome, const Scenario& scenario, const std::string& name) {
    const ledger::Address party = party_address(name);
    EXPECT_EQ(wealth(outcome, name) + lost_in_seats(outcome, party) + lost_in_disputes(outcome, party, true) +
                  lost_in_disputes(outcome, party, false) + lost_in_reports(outcome, party),
              initial_coins() + earned_in_seats(outcome, scenario, party));
}

class CheatingVerifier : public ::testing::TestWithParam<VerifierCase> {};

TEST_P(CheatingVerifier, CostsNobodyButItself) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].auditors = 3;
    scenario.planned_tasks[0].audit_bp = 10'000;
    scenario.verifiers[2] = *verifier_named(GetParam().name);
    scenario.solvers[0] = *solver_named(GetParam().solver);
    scenario.solvers[0].price_bp = 5'000;  // The cheapest bid, which wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    const U256 stake = scenario.verifiers[2].stake;
    const ledger::Address cheater = party_address("verifier2");
    EXPECT_EQ(outcome.balances.at("verifier2").bonded + lost_in_seats(outcome, cheater) +
                  lost_in_disputes(outcome, cheater, true),
              stake);
    EXPECT_EQ(outcome.balances.at("verifier2").bonded < stake, GetParam().loses_stake);
    expect_purse(outcome, scenario, "verifier2");
    for (const char* name : {"verifier0", "verifier1"}) {
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.verifiers[0].stake);
        EXPECT_GT(wealth(outcome, name), initial_coins()) << "honest work is paid";
    }
    if (scenario.solvers[0].honest()) {
        U256 gained = fees_of_reports(outcome, 0);
        for (const market::Dispute& dispute : outcome.disputes)
            gained += market::split(dispute.bond, kParams.solver_cost_bp).share;
        EXPECT_EQ(wealth(outcome, "solver0"), initial_coins() + earned(outcome, 0) + gained);
        EXPECT_EQ(!gained.is_zero(), GetParam().pays_the_solver);
        EXPECT_EQ(outcome.tasks[0].runs.size(), 1u);
        // The part that is neither paid out nor given to the solver is burned, and nothing else is.
        const U256 burned = lost_in_seats(outcome, cheater) + lost_in_disputes(outcome, cheater, true) +
                            lost_in_disputes(outcome, cheater, false) + fees_of_reports(outcome, 0) - gained;
        EXPECT_EQ(wealth(outcome, "requester") + wealth_of_all(outcome, "verifier") + wealth_of_all(outcome, "solver") +
                      burned,
                  initial_coins() * U256(1 + scenario.verifiers.size() + scenario.solvers.size()));
    } else {
        EXPECT_EQ(outcome.findings.frauds_convicted, 1u) << "the others see it";
    }
}

INSTANTIATE_TEST_SUITE_P(Table, CheatingVerifier,
                         ::testing::Values(VerifierCase{"false_accuser", "honest", true, true},
                                           VerifierCase{"copier", "honest", true, false},
                                           VerifierCase{"never_reveals", "honest", true, false},
                                           VerifierCase{"guesser", "honest", true, true},
                                           VerifierCase{"no_show", "honest", true, false},
                                           VerifierCase{"false_reporter", "honest", false, true},
                                           VerifierCase{"colluder", "ulp", true, false},
                                           VerifierCase{"griefer", "honest", false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Adversaries, AGrieferLosesTheBondOfEveryChallenge) {
    Scenario scenario = calm_scenario();
    scenario.verifiers.push_back(*verifier_named("griefer"));
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    std::uint64_t lost = 0;
    for (const market::Dispute& dispute : outcome.disputes)
        lost += dispute.state == market::DisputeState::challenger_lost ? 1 : 0;
    EXPECT_EQ(lost, outcome.disputes.size());
    EXPECT_GE(lost, 4u);
    expect_purse(outcome, scenario, "verifier3");
    EXPECT_LT(wealth(outcome, "verifier3"), initial_coins());
}

// --- requesters and proposers ---

struct RequesterCase {
    RequesterFraud fraud;
    TaskState end;
};
class BadRequester : public ::testing::TestWithParam<RequesterCase> {};

TEST_P(BadRequester, PaysForWorkThatWasDoneAndForNothingElse) {
    Scenario scenario = calm_scenario();
    scenario.planned_tasks[0].fraud = GetParam().fraud;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, GetParam().end);
    U256 paid;
    for (const market::Run& run : outcome.tasks[0].runs) paid += run.earned;
    U256 audits;
    for (const char* name : {"verifier0", "verifier1", "verifier2"}) audits += wealth(outcome, name) - initial_coins();
    // Who cancels burns a thousandth of what the bids that it found lock (contracts 12.2).
    const U256 lock = *market::stake_floor(kParams, posted_spec(scenario));
    const U256 burned = initial_coins() - wealth(outcome, "requester") - paid - audits;
    const std::set<U256> locks{U256(), market::cancel_fee(lock), market::cancel_fee(lock + lock)};
    if (GetParam().fraud == RequesterFraud::withdraw)
        EXPECT_TRUE(locks.contains(burned)) << burned.to_decimal();
    else
        EXPECT_EQ(burned, U256());
    EXPECT_EQ(wealth(outcome, "solver0") + wealth(outcome, "solver1"), initial_coins() + initial_coins() + paid);
    EXPECT_EQ(paid.is_zero(), GetParam().end != TaskState::settled);
}

INSTANTIATE_TEST_SUITE_P(Table, BadRequester,
                         ::testing::Values(RequesterCase{RequesterFraud::none, TaskState::settled},
                                           RequesterCase{RequesterFraud::withdraw, TaskState::cancelled},
                                           RequesterCase{RequesterFraud::impossible, TaskState::expired},
                                           RequesterCase{RequesterFraud::no_upload, TaskState::expired},
                                           RequesterCase{RequesterFraud::disappear, TaskState::settled}),
                         [](const auto& info) { return std::string(slug(info.param.fraud)); });

class BadProposer : public ::testing::TestWithParam<ProposerFraud> {};

TEST_P(BadProposer, SlowsEverybodyDownAndCostsNobodyAnything) {
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named("ulp"));
    scenario.validators.resize(4);
    scenario.validators[0].fraud = GetParam();
    scenario.shares = true;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
    EXPECT_EQ(outcome.tasks[0].runs.at(0).state, RunState::forfeited);
    EXPECT_EQ(outcome.tasks[0].runs.at(1).state, RunState::settled);
    expect_balances(outcome, scenario, Loses::whole_lock);
    EXPECT_GT(outcome.height, 100u);
}

INSTANTIATE_TEST_SUITE_P(Table, BadProposer,
                         ::testing::Values(ProposerFraud::none, ProposerFraud::censor, ProposerFraud::delay,
                                           ProposerFraud::reorder, ProposerFraud::front_run),
                         [](const auto& info) { return std::string(slug(info.param)); });

}  // namespace
}  // namespace retrace::sim
