// SPDX-License-Identifier: MIT
// Private groups as whole runs: what a member may do on data that nobody else has, and what it may not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/batch.hpp"

namespace retrace::sim {
namespace {

using market::RunState;

const market::Run& member_of(const Outcome& outcome, const std::string& name) {
    for (const market::Run& run : outcome.tasks.at(0).runs)
        if (outcome.names.at(run.solver) == name) return run;
    throw std::runtime_error(name + " has no run");
}

/// A private group with solver 0 as this adversary. Everything that everybody can check is audited.
Scenario private_group(std::string_view adversary) {
    Scenario out = calm_group();
    out.planned_tasks[0].audit_bp = market::kBasisPoints;
    out.solvers[0] = *group_member_named(adversary);
    out.solvers[0].segment = 1;  // The round.
    make_private(out);
    return out;
}

void expect_others_paid(const Outcome& outcome) {
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, market::TaskState::settled);
    for (const std::string name : {"solver1", "solver2", "solver3"}) {
        EXPECT_EQ(member_of(outcome, name).state, RunState::settled) << name;
        EXPECT_FALSE(member_of(outcome, name).earned.is_zero()) << name;
    }
}

TEST(PrivateGroups, MembersTrainOnDataOfTheirOwn) {
    Scenario scenario = private_group("honest");
    give_data(scenario, 1, 2);
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_others_paid(outcome);
    for (const market::Run& run : outcome.tasks[0].runs) EXPECT_EQ(run.earned, run.price * ledger::U256(3));
    EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
}

/// Garbage, no training, and other data than those that were committed to: an account that has the data convicts.
class ConsentingMember : public ::testing::TestWithParam<const char*> {};
TEST_P(ConsentingMember, IsConvictedByItsAuditor) {
    Scenario scenario = private_group(GetParam());
    give_data(scenario, 0, 1);
    const Outcome outcome = play(2, scenario, catalogue(), {});
    expect_others_paid(outcome);
    EXPECT_EQ(member_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_GE(outcome.findings.frauds_audited, 1u);
    EXPECT_EQ(outcome.findings.frauds_convicted, outcome.findings.frauds_audited);
}
INSTANTIATE_TEST_SUITE_P(Names, ConsentingMember,
                         ::testing::Values("ulp", "skip_steps", "poison_nan", "poison_norm", "switches_data",
                                           "lie_steps", "lie_trace", "stop_in_dispute"),
                         [](const auto& info) { return std::string(info.param); });

/// Without consent nobody can tell, as threat model open 55 says; the others are paid, and none of them loses anything.
class MemberWithoutConsent : public ::testing::TestWithParam<const char*> {};
TEST_P(MemberWithoutConsent, CostsTheOthersNothing) {
    const Outcome outcome = play(3, private_group(GetParam()), catalogue(), {});
    expect_others_paid(outcome);
    EXPECT_EQ(outcome.findings.frauds_audited, 0u);
    EXPECT_EQ(member_of(outcome, "solver0").state, RunState::settled);
}
INSTANTIATE_TEST_SUITE_P(Names, MemberWithoutConsent,
                         ::testing::Values("ulp", "skip_steps", "poison_norm", "switches_data"),
                         [](const auto& info) { return std::string(info.param); });

/// Its inner steps are nobody's business, its first state is everybody's.
TEST(PrivateGroups, AFalseFirstStateConvictsWhoeverAuditsTheRest) {
    for (const bool by_consent : {false, true}) {
        Scenario scenario = private_group("false_start");
        if (by_consent) {  // The auditor is the member's own.
            scenario.verifiers[3] = *verifier_named("copier");
            give_data(scenario, 0, 3);
        }
        const Outcome outcome = play(4, scenario, catalogue(), {});
        expect_others_paid(outcome);
        EXPECT_EQ(member_of(outcome, "solver0").state, RunState::forfeited);
    }
}

/// Auditors by consent that lie, sleep, guess or accuse: whoever named them loses nothing by it.
class BadAuditorByConsent : public ::testing::TestWithParam<const char*> {};
TEST_P(BadAuditorByConsent, CostsNobodyElseAnything) {
    Scenario scenario = private_group("honest");
    scenario.verifiers[0] = *verifier_named(GetParam());
    give_data(scenario, 0, 0);
    give_data(scenario, 1, 0);
    const Outcome outcome = play(5, scenario, catalogue(), {});
    expect_others_paid(outcome);
    EXPECT_EQ(member_of(outcome, "solver0").state, RunState::settled);
}
INSTANTIATE_TEST_SUITE_P(Names, BadAuditorByConsent,
                         ::testing::Values("guesser", "no_show", "never_reveals", "false_accuser", "false_reporter",
                                           "griefer"),
                         [](const auto& info) { return std::string(info.param); });

/// It has used up its reports and is the only account that may be drawn: elsewhere a run that nobody could audit is lost.
TEST(PrivateGroups, AnAuditorThatReportsWhatIsServedAndGivesNoVerdictEndsNoRun) {
    Scenario scenario = private_group("honest");
    scenario.verifiers[0] = *verifier_named("false_reporter");
    scenario.verifiers[0].no_verdicts = true;
    give_data(scenario, 0, 0);
    give_data(scenario, 1, 0);
    const Outcome outcome = play(5, scenario, catalogue(), {});
    expect_others_paid(outcome);
    EXPECT_EQ(member_of(outcome, "solver0").state, RunState::settled);
    EXPECT_EQ(member_of(outcome, "solver0").earned, member_of(outcome, "solver0").price * ledger::U256(3));
}

/// It shows its false first state as late as it may, so that nobody could compare it with anything.
TEST(PrivateGroups, AFalseFirstStateThatIsShownLateConvictsToo) {
    Scenario scenario = private_group("false_start");
    scenario.solvers[0].opens_late = true;
    const Outcome outcome = play(4, scenario, catalogue(), {});
    expect_others_paid(outcome);
    EXPECT_EQ(member_of(outcome, "solver0").state, RunState::forfeited);
}

/// A requester that lets only accounts of its own take part, of which one sends garbage: it is paid from its own escrow, and
/// verifiers are paid for what they audit.
TEST(PrivateGroups, ARequesterThatAdmitsOnlyItsOwnAccountsGainsNothingFromOthers) {
    Scenario scenario = private_group("poison_norm");
    scenario.planned_tasks[0].group->admitted = {"solver0", "solver1"};
    scenario.planned_tasks[0].group->least = 2;
    for (const std::size_t own : {0, 1}) scenario.solvers[own].owned = true;
    scenario.bad_requesters = {0};
    const Outcome outcome = play(6, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    const auto& task = outcome.tasks.at(0);
    ASSERT_EQ(task.runs.size(), 2u) << "nobody else has a seat";
    ledger::U256 earned;
    for (const market::Run& run : task.runs) earned += run.earned;
    EXPECT_LE(earned, task.runs[0].price * ledger::U256(2 * 3)) << "what its escrow held for two members";
    for (const market::Run& run : task.runs) EXPECT_NE(outcome.names.at(run.solver), "solver2");
}

TEST(PrivateGroups, MembersThatAreAwayCatchUpAndOthersJoin) {
    Scenario scenario = private_group("honest");
    scenario.planned_tasks[0].group->rounds = 6;
    scenario.planned_tasks[0].group->members = 5;  // A seat stays free.
    scenario.solvers[1].away = {1, 2};
    scenario.solvers.push_back(scenario.solvers[3]);
    scenario.solvers[4].joins = true;
    make_private(scenario);
    give_data(scenario, 4, 2);
    const Outcome outcome = play(8, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(member_of(outcome, "solver1").state, RunState::settled);
    EXPECT_EQ(member_of(outcome, "solver4").state, RunState::settled);
    EXPECT_FALSE(member_of(outcome, "solver4").earned.is_zero());
}

}  // namespace
}  // namespace retrace::sim
