// SPDX-License-Identifier: MIT
// Groups with masks as whole runs with real replays: who drops at any step, deals garbage or masks wrongly, and a quarter that colludes.
#include "tests/simulation/group_outcome.hpp"

namespace retrace::sim {
namespace {

using market::RunState;

Scenario masked_group() {
    Scenario out = calm_group();
    out.planned_tasks[0].group->masked = true;
    out.planned_tasks[0].group->least = 3;
    return out;
}

/// With solver 0 as this adversary, all of whose segments are audited.
Scenario masked_group_with(std::string_view adversary) {
    Scenario out = masked_group();
    out.planned_tasks[0].audit_bp = market::kBasisPoints;
    out.solvers[0] = *group_member_named(adversary);
    out.solvers[0].segment = 1;
    return out;
}

/// Auditors replay what masks hide, and all of them find it right.
TEST(MaskedGroups, HonestMembersAndTheirAuditorsLoseNothing) {
    Scenario scenario = masked_group();
    scenario.planned_tasks[0].audit_bp = market::kBasisPoints;
    const Outcome outcome = play(1, scenario, catalogue(), {});
    expect_good(outcome);
    const ledger::U256 price = run_of(outcome, "solver0").price;
    for (const market::Run& run : outcome.tasks[0].runs) EXPECT_EQ(run.earned, price * ledger::U256(3));
    EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
}

class ConvictedUnderMasks : public ::testing::TestWithParam<const char*> {};
TEST_P(ConvictedUnderMasks, LosesItsLockAndTheOthersArePaid) {
    const Outcome outcome = play(2, masked_group_with(GetParam()), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_GE(outcome.findings.frauds_audited, 1u) << "who masks wrongly does so in each round";
    EXPECT_EQ(outcome.findings.frauds_convicted, outcome.findings.frauds_audited);
}
INSTANTIATE_TEST_SUITE_P(Names, ConvictedUnderMasks,
                         ::testing::Values("wrong_mask", "ulp", "skip_steps", "wrong_data", "stale_checkpoint",
                                           "lie_tile"),
                         [](const auto& info) { return std::string(info.param); });

/// One of four members does one of its duties never.
class DropsUnderMasks : public ::testing::TestWithParam<const char*> {};
TEST_P(DropsUnderMasks, CostsTheOthersNothing) {
    Scenario scenario = masked_group_with("honest");
    scenario.solvers[0].omits = {GetParam()};
    const Outcome outcome = play(3, scenario, catalogue(), {});
    expect_good(outcome);
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, run_of(outcome, name).price * ledger::U256(3)) << name;
}
INSTANTIATE_TEST_SUITE_P(Calls, DropsUnderMasks, ::testing::Values("maskKeys", "maskShares", "unmask", "showMasks"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MaskedGroups, WhoDoesNotShowItsMasksLosesItsLock) {
    Scenario scenario = masked_group_with("honest");
    scenario.solvers[0].omits = {"showMasks"};
    const Outcome outcome = play(4, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_TRUE(run_of(outcome, "solver0").earned.is_zero());
}

TEST(MaskedGroups, ADealerOfGarbageLosesItsLockAndNobodyElseARound) {
    Scenario scenario = masked_group_with("honest");
    scenario.solvers[0].deals_garbage = true;
    const Outcome outcome = play(5, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, run_of(outcome, name).price * ledger::U256(3)) << name;
}

/// A message that did not come, or that nobody could fetch, is taken out of the sum.
TEST(MaskedGroups, AMemberThatIsAwayAfterItDealtCostsTheOthersNothing) {
    for (const char* const role : {"sleeps", "hide_message"}) {
        const Outcome outcome = play(6, masked_group_with(role), catalogue(), {});
        expect_good(outcome);
        for (const std::string name : {"solver1", "solver2", "solver3"})
            EXPECT_EQ(run_of(outcome, name).earned, run_of(outcome, name).price * ledger::U256(3)) << role << name;
    }
}

/// Lazy, lying and silent auditors, and those that repeat what an accomplice tells them.
class AuditorUnderMasks : public ::testing::TestWithParam<const char*> {};
TEST_P(AuditorUnderMasks, ConvictsAndSavesNobody) {
    Scenario scenario = masked_group_with("wrong_mask");
    scenario.verifiers[0] = *verifier_named(GetParam());
    const Outcome outcome = play(7, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_GE(outcome.findings.frauds_audited, 1u);
    EXPECT_EQ(outcome.findings.frauds_convicted, outcome.findings.frauds_audited);
}
INSTANTIATE_TEST_SUITE_P(Names, AuditorUnderMasks,
                         ::testing::Values("copier", "guesser", "no_show", "never_reveals", "false_accuser",
                                           "false_reporter", "griefer", "colluder"),
                         [](const auto& info) { return std::string(info.param); });

/// Up to a quarter of members and of auditors collude, machines crash, and links lose messages: as other groups, under masks.
TEST(MaskedGroups, GroupsOfAllKindsBreakNoRuleUnderMasks) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Scenario scenario = masked_scenario(seed);
        const Outcome outcome = play(seed, scenario, catalogue(), {});
        EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace retrace::sim
