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

/// The numbers of messages in the records of a group: those of training and those of merged messages in turn.
std::vector<std::size_t> recorded(const Outcome& outcome) {
    std::vector<std::size_t> out;
    for (const market::Round& record : outcome.tasks.at(0).rounds) out.push_back(record.entries.size());
    return out;
}

TEST(RegionalGroups, AnUndisturbedGroupIsSettled) {
    const Outcome outcome = play(1, regional_group(), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(recorded(outcome), (std::vector<std::size_t>{4, 2, 4, 2, 4, 2}));
    const ledger::U256 price = run_of(outcome, "solver0").price, merged = market::merge_pay(price);
    // In regions of two each member merges, or would if the other did not.
    for (const market::Run& run : outcome.tasks[0].runs) EXPECT_EQ(run.earned, (price + merged) * ledger::U256(3));
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

/// The others' pay for three rounds of training, and for merging in each of the three that follow.
ledger::U256 whole_pay(const Outcome& outcome) {
    const ledger::U256 price = run_of(outcome, "solver1").price;
    return (price + market::merge_pay(price)) * ledger::U256(3);
}

/// False lists, members that sleep or give up. What harms no flat group in the same way is left to groups_test.cpp.
class HarmlessMerger : public ::testing::TestWithParam<const char*> {};
TEST_P(HarmlessMerger, CostsTheOthersNothing) {
    const Outcome outcome = play(5, regional_group_with(GetParam(), 1), catalogue(), {});
    expect_good(outcome);
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, whole_pay(outcome)) << name;
    for (std::size_t i = 1; i < recorded(outcome).size(); i += 2) EXPECT_EQ(recorded(outcome)[i], 2u) << "round " << i;
}
INSTANTIATE_TEST_SUITE_P(Names, HarmlessMerger, ::testing::Values("list_falsely", "silent", "sleeps"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RegionalGroups, ThreeMembersAreOneRegion) {
    const Outcome outcome = play(5, regional_group_with("gives_up", 1), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(recorded(outcome), (std::vector<std::size_t>{3, 1, 3, 1, 3, 1}));
    const ledger::U256 price = run_of(outcome, "solver1").price;
    ledger::U256 paid;
    for (const std::string name : {"solver1", "solver2", "solver3"}) paid += run_of(outcome, name).earned;
    EXPECT_EQ(paid, price * ledger::U256(9) + market::merge_pay(price) * ledger::U256(6)) << "two of the three merge";
}

/// A member whose messages reach nobody is not recorded, merges nothing and is not paid; its region goes on.
TEST(RegionalGroups, WhoHidesItsMessagesIsNotPaid) {
    const Outcome outcome = play(5, regional_group_with("hide_message", 1), catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(recorded(outcome), (std::vector<std::size_t>{3, 2, 3, 2, 3, 2}));
    EXPECT_TRUE(run_of(outcome, "solver0").earned.is_zero());
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, whole_pay(outcome)) << name;
}

/// A member that sends what it trained and merges nothing loses the pay of the rounds in which it should have, and its region
/// has the message of the other one.
TEST(RegionalGroups, WhoMergesNothingIsNotPaidForTheRound) {
    Scenario scenario = regional_group();
    for (const std::uint32_t round : {1u, 3u}) scenario.solvers[0].away.insert(round);
    const Outcome outcome = play(6, scenario, catalogue(), {});
    expect_good(outcome);
    EXPECT_EQ(recorded(outcome), (std::vector<std::size_t>{4, 2, 4, 2, 4, 2}));
    const ledger::U256 price = run_of(outcome, "solver0").price;
    EXPECT_EQ(run_of(outcome, "solver0").earned, price + market::merge_pay(price)) << "for the last of three rounds";
    for (const std::string name : {"solver1", "solver2", "solver3"})
        EXPECT_EQ(run_of(outcome, name).earned, whole_pay(outcome)) << name;
}

/// Eight members, two of which list and merge nothing of the others: a quarter of the seats.
TEST(RegionalGroups, AQuarterOfTheSeatsCostsTheOthersNoRoundThatTheyDoNotDecide) {
    Scenario scenario = regional_group();
    scenario.planned_tasks[0].group->members = 8;
    scenario.solvers.assign(8, *solver_named("honest"));
    for (const std::size_t bad : {0, 1}) scenario.solvers[bad] = *group_member_named("hide_message");
    const Outcome outcome = play(7, scenario, catalogue(), {});
    EXPECT_THAT(outcome.findings.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.tasks.at(0).state, market::TaskState::settled);
    EXPECT_EQ(recorded(outcome), (std::vector<std::size_t>{6, 2, 6, 2, 6, 2}));
    const ledger::U256 price = run_of(outcome, "solver2").price;
    for (const std::string name : {"solver2", "solver3", "solver4", "solver5", "solver6", "solver7"})
        EXPECT_GE(run_of(outcome, name).earned, price * ledger::U256(3)) << name;
    for (const std::string name : {"solver0", "solver1"}) EXPECT_TRUE(run_of(outcome, name).earned.is_zero()) << name;
}

}  // namespace
}  // namespace retrace::sim
