// SPDX-License-Identifier: MIT
// Groups as whole runs: each adversary by name, and what its fraud costs the others.
#include "tests/simulation/group_outcome.hpp"

namespace retrace::sim {
namespace {

using market::RunState;

/// The group with solver 0 as this adversary, all of whose segments are audited.
Scenario group_with(std::string_view adversary) {
    Scenario out = calm_group();
    out.planned_tasks[0].audit_bp = market::kBasisPoints;
    out.solvers[0] = *group_member_named(adversary);
    out.solvers[0].segment = 1;  // The round.
    return out;
}

TEST(Groups, AnUndisturbedGroupIsSettled) {
    const Outcome outcome = play(1, calm_group(), catalogue(), {});
    expect_good(outcome);
    const ledger::U256 price = run_of(outcome, "solver0").price;
    for (const market::Run& run : outcome.tasks[0].runs) EXPECT_EQ(run.earned, price * ledger::U256(3));
    EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
}

TEST(Groups, ABrokenRuleIsReported) {
    RunOptions options;
    options.sabotage = Sabotage::acquit;
    const Outcome broken = play(2, group_with("ulp"), catalogue(), options);
    EXPECT_THAT(broken.findings.violations, ::testing::Contains(::testing::HasSubstr("was audited and not convicted")));
}

TEST(Groups, OneSeedIsOneRun) {
    for (const std::uint64_t seed : {1, 4}) {
        const Outcome a = play(seed, group_scenario(seed), catalogue(), {});
        const Outcome b = play(seed, group_scenario(seed), catalogue(), {});
        EXPECT_EQ(a.trace_hash, b.trace_hash) << seed;
    }
}

/// Wrong, copied and poisoned updates, skipped steps, data of others.
class ConvictedMember : public ::testing::TestWithParam<const char*> {};
TEST_P(ConvictedMember, LosesItsLockAndTheOthersArePaid) {
    const Outcome outcome = play(2, group_with(GetParam()), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_audited, 1u);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
    expect_all_recorded(outcome);
    EXPECT_NE(recorded_in(outcome, 1).find("solver0"), std::string::npos) << "the record stands";
    EXPECT_LE(run_of(outcome, "solver0").earned, run_of(outcome, "solver0").price) << "for round 0";
}
INSTANTIATE_TEST_SUITE_P(Names, ConvictedMember,
                         ::testing::Values("ulp", "skip_steps", "wrong_data", "stale_checkpoint", "poison_nan",
                                           "poison_norm", "copy_message", "lie_steps", "lie_trace", "lie_tile",
                                           "stop_in_dispute"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Groups, AMessageUnlikeTheStateCannotBeOpened) {
    const Outcome outcome = play(3, group_with("wrong_message"), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    expect_all_recorded(outcome);
    EXPECT_EQ(recorded_of(outcome, "solver0"), 0u) << "nobody has what it says that it sent";
}

TEST(Groups, AMessageThatIsServedToNobodyIsNotPaid) {
    const Outcome outcome = play(4, group_with("hide_message"), catalogue(), {});
    expect_good(outcome);
    EXPECT_TRUE(run_of(outcome, "solver0").earned.is_zero());
    EXPECT_EQ(recorded_of(outcome, "solver0"), 0u);
    expect_all_recorded(outcome);
}

TEST(Groups, AMessageThatIsServedToOneMemberReachesAll) {
    const Outcome outcome = play(14, group_with("serves_one"), catalogue(), {});
    expect_good(outcome);
    expect_all_recorded(outcome);
    EXPECT_EQ(recorded_of(outcome, "solver0"), 3u) << "who has it serves it";
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::settled);
}

/// A quarter of the seats poison as often as they can: each in a round of its own.
TEST(Groups, SlowPoisoningByAQuarterOfTheSeatsCostsEachItsLock) {
    Scenario scenario = calm_group();
    PlannedTask& planned = scenario.planned_tasks[0];
    planned.audit_bp = market::kBasisPoints;
    planned.group->members = 8;
    scenario.solvers.assign(8, *solver_named("honest"));
    for (const std::size_t seat : {0, 7}) {
        scenario.solvers[seat] = *group_member_named("poison_norm");
        scenario.solvers[seat].segment = seat == 0 ? 0 : 1;
    }
    const Outcome outcome = play(15, scenario, catalogue(), {});
    expect_good(outcome);
    for (const std::string name : {"solver0", "solver7"})
        EXPECT_EQ(run_of(outcome, name).state, RunState::forfeited) << name;
    EXPECT_EQ(outcome.findings.frauds_convicted, 2u);
    for (const std::string name : {"solver1", "solver4", "solver6"})
        EXPECT_EQ(run_of(outcome, name).earned, run_of(outcome, name).price * ledger::U256(3)) << name;
}

/// Choosing how many steps it makes, and when it is away, a member is paid for what it sends.
TEST(Groups, AMemberThatSteersByItsStepsAndItsAbsenceIsPaidForWhatItSends) {
    Scenario scenario = calm_group();
    scenario.planned_tasks[0].group->rounds = 4;
    scenario.solvers[0].member_steps = 1;
    scenario.solvers[0].away = {1, 3};
    const Outcome outcome = play(16, scenario, catalogue(), {});
    expect_good(outcome);
    expect_all_recorded(outcome);
    EXPECT_EQ(recorded_in(outcome, 1).find("solver0"), std::string::npos);
    EXPECT_EQ(recorded_of(outcome, "solver0"), 2u);
    const market::Run& run = run_of(outcome, "solver0");
    EXPECT_EQ(run.earned, ledger::mul_div(run.price, 1, 4) * ledger::U256(2)) << "one step of four, in two rounds";
    EXPECT_EQ(run.state, RunState::settled);
}

TEST(Groups, WhoDoesNotTakeInTheLastRecordsIsNotPaidForTheLastRound) {
    const Outcome outcome = play(17, group_with("never_finishes"), catalogue(), {});
    expect_good(outcome);
    expect_all_recorded(outcome);
    const market::Run& run = run_of(outcome, "solver0");
    EXPECT_EQ(recorded_of(outcome, "solver0"), 3u);
    EXPECT_EQ(run.earned, run.price * ledger::U256(2));
    EXPECT_EQ(run.state, RunState::left);
    EXPECT_TRUE(run.locked.is_zero());
}

TEST(Groups, AGroupOfWhichNobodyFinishesIsNotPaidForTheLastRound) {
    Scenario scenario = calm_group();
    for (SolverRole& role : scenario.solvers) role.never_finishes = true;
    const Outcome outcome = play(18, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.tasks[0].state, market::TaskState::expired);
    for (const market::Run& run : outcome.tasks[0].runs) {
        EXPECT_EQ(run.earned, run.price * ledger::U256(2));
        EXPECT_EQ(run.state, RunState::left);
    }
}

/// Listing falsely, serving late or nothing, floods, openings at the last block, absence, seats that are given up.
class HarmlessMember : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessMember, CostsTheOthersNothing) {
    const Outcome outcome = play(5, group_with(GetParam()), catalogue(), {});
    expect_good(outcome);
    expect_all_recorded(outcome);
}
INSTANTIATE_TEST_SUITE_P(Names, HarmlessMember,
                         ::testing::Values("list_falsely", "withhold", "wrong_tiles", "hide", "answer_late", "flood",
                                           "silent", "opens_late", "gives_up", "sleeps"),
                         [](const auto& info) { return std::string(info.param); });

/// A group whose members may send messages of two rounds before.
Scenario group_of_ages() {
    Scenario out = calm_group();
    out.planned_tasks[0].group->rounds = 6;
    out.planned_tasks[0].group->max_age = 2;
    return out;
}

TEST(Groups, MembersThatSendAsLateAsTheyMayArePaidForWhatTheySend) {
    Scenario scenario = group_of_ages();
    for (const std::size_t late : {0, 1}) scenario.solvers[late] = *group_member_named("sends_late");
    const Outcome outcome = play(10, scenario, catalogue(), {});
    expect_good(outcome);
    const ledger::U256 price = run_of(outcome, "solver3").price;
    for (const std::string name : {"solver0", "solver1"}) {
        EXPECT_EQ(run_of(outcome, name).state, RunState::settled);
        EXPECT_EQ(run_of(outcome, name).earned, price * ledger::U256(2)) << "in rounds 2 and 5";
    }
    for (const std::string name : {"solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, price * ledger::U256(6));
}

TEST(Groups, AnOldMessageConvictsAsANewOneDoes) {
    Scenario scenario = group_of_ages();
    scenario.planned_tasks[0].audit_bp = market::kBasisPoints;
    scenario.solvers[0] = *group_member_named("poison_norm");
    scenario.solvers[0].segment = 0;
    scenario.solvers[0].sends_late = true;
    const Outcome outcome = play(11, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
}

/// A poisoner that leaves after its fraud keeps its lock at stake.
TEST(Groups, LeavingDoesNotSaveThePoisoner) {
    Scenario scenario = group_with("poison_norm");
    scenario.solvers[0].leaves_in = 2;
    const Outcome outcome = play(6, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
}

/// Lazy, lying and silent auditors, and those that repeat what an accomplice tells them.
class GroupAuditor : public ::testing::TestWithParam<const char*> {};
TEST_P(GroupAuditor, ConvictsAndSavesNobody) {
    Scenario scenario = group_with("ulp");
    scenario.verifiers[0] = *verifier_named(GetParam());
    const Outcome outcome = play(7, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(outcome.findings.frauds_convicted, outcome.findings.frauds_audited);
}
INSTANTIATE_TEST_SUITE_P(Names, GroupAuditor,
                         ::testing::Values("copier", "guesser", "no_show", "never_reveals", "false_accuser",
                                           "false_reporter", "griefer", "colluder"),
                         [](const auto& info) { return std::string(info.param); });

/// Groups that go back when a member lies, or does not answer for what it has sent.
Scenario group_that_rolls_back(std::string_view adversary) {
    Scenario out = group_with(adversary);
    roll_back(*out.planned_tasks[0].group, 1, 2);
    return out;
}

class UndoneMember : public ::testing::TestWithParam<const char*> {};
TEST_P(UndoneMember, LosesItsLockAndTheOthersArePaidForWhatIsVoid) {
    const Outcome outcome = play(12, group_that_rolls_back(GetParam()), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_convicted, outcome.findings.frauds_audited);
    EXPECT_EQ(outcome.tasks[0].rollbacks, 1u);
    // Of a round that the rollback ends it is paid for what it had sent.
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_GE(run_of(outcome, name).earned, run_of(outcome, name).price * ledger::U256(7)) << name;
}
INSTANTIATE_TEST_SUITE_P(Names, UndoneMember,
                         ::testing::Values("ulp", "skip_steps", "stale_checkpoint", "poison_nan", "poison_norm",
                                           "copy_message", "stop_in_dispute"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Groups, AMessageThatIsInNoRecordIsNotUndone) {
    const Outcome outcome = play(12, group_that_rolls_back("wrong_message"), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.tasks[0].rollbacks, 0u) << "nobody has the message whose roots were sent";
}

class HarmlessInRollbacks : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessInRollbacks, UndoesNothing) {
    const Outcome outcome = play(13, group_that_rolls_back(GetParam()), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(outcome.tasks[0].rollbacks, 0u);
}
INSTANTIATE_TEST_SUITE_P(Names, HarmlessInRollbacks,
                         ::testing::Values("honest", "list_falsely", "hide_message", "answer_late", "sleeps"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Groups, MembersThatAreAwayReturnAndOthersJoin) {
    Scenario scenario = calm_group();
    scenario.planned_tasks[0].group->rounds = 5;
    scenario.planned_tasks[0].group->members = 5;  // A seat stays free.
    scenario.solvers[1].away = {1, 2};
    scenario.solvers[2].leaves_in = 1;
    scenario.solvers.push_back(scenario.solvers[3]);
    scenario.solvers[4].joins = true;
    const Outcome outcome = play(8, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(run_of(outcome, "solver1").state, RunState::settled);
    EXPECT_EQ(run_of(outcome, "solver2").state, RunState::left);
    EXPECT_EQ(run_of(outcome, "solver4").state, RunState::settled);
    EXPECT_FALSE(run_of(outcome, "solver4").earned.is_zero());
}

/// Cut off before it has committed to a segment, a member misses rounds and nothing else.
TEST(Groups, AMemberThatIsCutOffForRoundsCatchesUp) {
    Scenario scenario = calm_group();
    PlannedTask& planned = scenario.planned_tasks[0];
    planned.group->rounds = 8;
    planned.group->absence_limit = 6;
    planned.at_height = 150;  // The solvers' benchmarks are proved by then, and they have no others.
    scenario.params.capability_rest_blocks = 5'000;
    scenario.triggered_cuts = {{2, "RoundPhaseChanged task=1 round=0 phase=2", 0, 120, std::nullopt}};
    const Outcome outcome = play(9, scenario, catalogue(), {});
    expect_good(outcome);
    const ledger::U256 all = run_of(outcome, "solver0").earned;
    EXPECT_LT(run_of(outcome, "solver1").earned, all);
    EXPECT_EQ(all, run_of(outcome, "solver0").price * ledger::U256(8));
}

}  // namespace
}  // namespace retrace::sim
