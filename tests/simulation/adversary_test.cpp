// SPDX-License-Identifier: MIT
// Each adversary by its name against honest parties on a calm chain: how it ends, and what everybody has
// then.
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

const Catalogue& catalogue() {
    static const Catalogue made = make_catalogue();
    return made;
}

const market::Params kParams = simulated_params();
const U256 kCeiling(10 * market::kMilli);

U256 wealth(const Outcome& outcome, const std::string& name) {
    const auto& balance = outcome.balances.at(name);
    return balance.coins + balance.bonded + balance.fees;
}
U256 earned(const Outcome& outcome, std::size_t run) {
    return outcome.tasks.at(0).runs.at(run).earned;
}

/// What must hold beside any adversary: nothing was violated and the task ended with the true model.
void expect_settled(const Outcome& outcome) {
    EXPECT_THAT(outcome.verdicts.violations, IsEmpty());
    ASSERT_EQ(outcome.tasks.size(), 1u);
    EXPECT_EQ(outcome.tasks[0].state, TaskState::settled);
    EXPECT_EQ(outcome.tasks[0].final_root, outcome.tasks[0].true_root);
}

// --- solvers ---

enum class Loses { nothing, whole_lock, silence_share };
struct SolverCase {
    const char* name;
    RunState end;
    Loses loses;
};
class CheatingSolver : public ::testing::TestWithParam<SolverCase> {};

TEST_P(CheatingSolver, ends_as_the_protocol_says) {
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named(GetParam().name));  // The cheapest: wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    const market::Run& run = outcome.tasks[0].runs.at(0);
    EXPECT_EQ(run.state, GetParam().end);

    const U256 lock =
        *market::stake_floor(kParams, scenario.orders[0].audit_bp, scenario.orders[0].auditors, kCeiling);
    U256 loss;
    if (GetParam().loses == Loses::whole_lock) loss = lock;
    if (GetParam().loses == Loses::silence_share)
        loss = market::split(lock, kParams.silence_penalty_bp).share;
    EXPECT_EQ(outcome.balances.at("solver2").bonded, scenario.solvers[2].stake - loss);
    U256 fees_of_reports;  // They go to who answers.
    for (const char* name : {"verifier0", "verifier1", "verifier2"})
        if (wealth(outcome, name) < initial_coins())
            fees_of_reports += initial_coins() - wealth(outcome, name);
    EXPECT_EQ(wealth(outcome, "solver2") + loss, initial_coins() + run.earned + fees_of_reports);

    const bool replaced = run.state != RunState::settled;
    ASSERT_EQ(outcome.tasks[0].runs.size(), replaced ? 2u : 1u);
    for (const char* name : {"solver0", "solver1"}) {
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.solvers[0].stake);
        EXPECT_GE(wealth(outcome, name), initial_coins());
    }
    if (replaced) {
        EXPECT_EQ(wealth(outcome, "solver0") + wealth(outcome, "solver1"),
                  initial_coins() + initial_coins() + earned(outcome, 1));
    }
    const bool convicted = GetParam().loses == Loses::whole_lock && !outcome.disputes.empty();
    EXPECT_EQ(outcome.verdicts.frauds_convicted, convicted ? 1u : 0u);
    EXPECT_EQ(outcome.verdicts.frauds_audited, outcome.verdicts.frauds_convicted);
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

/// They serve nothing right but answer every report on the ledger until the auditors have none left: the run
/// is forfeited without a slash (contracts/decisions/002), and another solver finishes the task.
const char* const kWithholders[] = {"withhold", "wrong_tiles"};
class WithholdingSolver : public ::testing::TestWithParam<const char*> {};

TEST_P(WithholdingSolver, is_replaced_keeps_its_stake_and_is_not_paid_for_what_nobody_could_audit) {
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named(GetParam()));  // The cheapest: wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    const auto& runs = outcome.tasks.at(0).runs;
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].state, RunState::forfeited);
    EXPECT_EQ(runs[0].earned, U256(0));
    EXPECT_EQ(runs[1].state, RunState::settled);
    EXPECT_EQ(outcome.balances.at("solver2").bonded, scenario.solvers[2].stake);
    for (const char* name : {"solver0", "solver1"}) {
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.solvers[0].stake);
        EXPECT_GE(wealth(outcome, name), initial_coins());
    }
    EXPECT_EQ(outcome.verdicts.frauds_audited, 0u);
}
INSTANTIATE_TEST_SUITE_P(Table, WithholdingSolver, ::testing::ValuesIn(kWithholders),
                         [](const auto& info) { return std::string(info.param); });

TEST(Adversaries, every_named_solver_is_in_the_table) {
    std::set<std::string> tested(std::begin(kWithholders), std::end(kWithholders));
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
    const char* solver;  ///< That it audits.
    bool loses_stake;
    bool pays_the_solver;  ///< In fees of reports or in bonds.
};
class CheatingVerifier : public ::testing::TestWithParam<VerifierCase> {};

TEST_P(CheatingVerifier, costs_nobody_but_itself) {
    Scenario scenario = calm_scenario();
    scenario.orders[0].auditors = 3;
    scenario.orders[0].audit_bp = 10'000;
    scenario.verifiers[2] = *verifier_named(GetParam().name);
    scenario.solvers[0] = *solver_named(GetParam().solver);
    scenario.solvers[0].price_bp = 5'000;  // Wins.
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    const U256 stake = scenario.verifiers[2].stake;
    const U256 kept = outcome.balances.at("verifier2").bonded;
    if (GetParam().loses_stake)
        EXPECT_LT(kept, stake);
    else
        EXPECT_EQ(kept, stake);
    for (const char* name : {"verifier0", "verifier1"}) {
        EXPECT_EQ(outcome.balances.at(name).bonded, scenario.verifiers[0].stake);
        EXPECT_GT(wealth(outcome, name), initial_coins()) << "honest work is paid";
    }
    if (scenario.solvers[0].honest()) {
        const U256 without = initial_coins() + earned(outcome, 0);
        if (GetParam().pays_the_solver)
            EXPECT_GT(wealth(outcome, "solver0"), without);
        else
            EXPECT_EQ(wealth(outcome, "solver0"), without);
        EXPECT_EQ(outcome.tasks[0].runs.size(), 1u);
    } else {
        EXPECT_EQ(outcome.verdicts.frauds_convicted, 1u) << "the others see it";
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

TEST(Adversaries, a_griefer_loses_the_bond_of_every_challenge) {
    Scenario scenario = calm_scenario();
    scenario.verifiers.push_back(*verifier_named("griefer"));
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    std::uint64_t lost = 0;
    for (const market::Dispute& dispute : outcome.disputes)
        lost += dispute.state == market::DisputeState::challenger_lost ? 1 : 0;
    EXPECT_EQ(lost, outcome.disputes.size());
    EXPECT_GE(lost, 4u);
    EXPECT_GE(wealth(outcome, "verifier3") + U256(lost) * kParams.challenge_bond, initial_coins());
    EXPECT_LT(wealth(outcome, "verifier3"), initial_coins());
}

// --- requesters and proposers ---

struct RequesterCase {
    RequesterFraud fraud;
    TaskState end;
};
class BadRequester : public ::testing::TestWithParam<RequesterCase> {};

TEST_P(BadRequester, pays_for_work_that_was_done_and_for_nothing_else) {
    Scenario scenario = calm_scenario();
    scenario.orders[0].fraud = GetParam().fraud;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    EXPECT_THAT(outcome.verdicts.violations, IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, GetParam().end);
    U256 paid;
    for (const market::Run& run : outcome.tasks[0].runs) paid += run.earned;
    U256 audits;
    for (const char* name : {"verifier0", "verifier1", "verifier2"})
        audits += wealth(outcome, name) - initial_coins();
    EXPECT_EQ(wealth(outcome, "requester") + paid + audits, initial_coins());
    EXPECT_EQ(wealth(outcome, "solver0") + wealth(outcome, "solver1"),
              initial_coins() + initial_coins() + paid);
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

TEST_P(BadProposer, slows_everybody_down_and_costs_nobody_anything) {
    Scenario scenario = calm_scenario();
    scenario.solvers.push_back(*solver_named("ulp"));
    scenario.proposer = GetParam();
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_settled(outcome);
    EXPECT_EQ(outcome.verdicts.frauds_convicted, 1u);
    EXPECT_GT(outcome.height, 100u);
}

INSTANTIATE_TEST_SUITE_P(Table, BadProposer,
                         ::testing::Values(ProposerFraud::none, ProposerFraud::censor, ProposerFraud::delay),
                         [](const auto& info) { return std::string(slug(info.param)); });

}  // namespace
}  // namespace retrace::sim
