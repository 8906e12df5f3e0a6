// SPDX-License-Identifier: MIT
// Groups whose messages are merged in regions, as whole runs: mergers that lie, hide what they merged, or are away.
#include "tests/simulation/group_outcome.hpp"

namespace retrace::sim {
namespace {

using market::RunState;

Scenario regional_group() {
    Scenario out = calm_group();
    out.planned_tasks[0].group->regions = 2;
    return out;
}

/// With solver 0 as this adversary in round `round`, all of whose segments are audited. Both members of a region merge its
/// messages, so it does so in each round of merged messages: those with odd numbers.
Scenario regional_group_with(std::string_view adversary, std::uint64_t round) {
    Scenario out = regional_group();
    out.planned_tasks[0].audit_bp = market::kBasisPoints;
    out.solvers[0] = *group_member_named(adversary);
    out.solvers[0].segment = round;
    return out;
}

TEST(RegionalGroups, AnUndisturbedGroupIsSettled) {
    const Outcome outcome = play(1, regional_group(), catalogue(), {});
    expect_good(outcome);
    const ledger::U256 price = run_of(outcome, "solver0").price;
    for (const market::Run& run : outcome.tasks[0].runs) EXPECT_GE(run.earned, price * ledger::U256(3));
    EXPECT_THAT(outcome.disputes, ::testing::IsEmpty());
}

class LyingMerger : public ::testing::TestWithParam<const char*> {};
TEST_P(LyingMerger, LosesItsLockAndTheOthersArePaid) {
    const Outcome outcome = play(2, regional_group_with(GetParam(), 1), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_audited, 1u);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
}
/// One unit in the last place, messages that are left out, and poison.
INSTANTIATE_TEST_SUITE_P(Names, LyingMerger, ::testing::Values("ulp", "skip_steps", "poison_nan", "poison_norm"),
                         [](const auto& info) { return std::string(info.param); });

class LyingMember : public ::testing::TestWithParam<const char*> {};
TEST_P(LyingMember, LosesItsLockAndTheOthersArePaid) {
    const Outcome outcome = play(2, regional_group_with(GetParam(), 2), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
    EXPECT_EQ(outcome.findings.frauds_convicted, 1u);
}
INSTANTIATE_TEST_SUITE_P(Names, LyingMember, ::testing::Values("ulp", "poison_norm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RegionalGroups, AMergedMessageUnlikeTheStateCannotBeOpened) {
    const Outcome outcome = play(3, regional_group_with("wrong_message", 1), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(run_of(outcome, "solver0").state, RunState::forfeited);
}

/// Merged messages that are served to nobody, false lists, members that sleep or leave. What harms no flat group in the
/// same way is left to groups_test.cpp.
class HarmlessMerger : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessMerger, CostsTheOthersNothing) {
    expect_good(play(5, regional_group_with(GetParam(), 1), catalogue(), {}));
}
INSTANTIATE_TEST_SUITE_P(Names, HarmlessMerger,
                         ::testing::Values("hide_message", "list_falsely", "silent", "gives_up", "sleeps"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace retrace::sim
