// SPDX-License-Identifier: MIT
// Groups from their posting to their delivery. SPEC 21.
#include "contracts/lifecycle/market/runs.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupLife : public GroupTest {};

TEST_F(GroupLife, FourMembersTrainInRoundsAndDeliver) {
    start_group(small_terms());
    const U256 price = group().price;
    EXPECT_EQ(price, U256(430)) << "the highest winning price, as nobody lost";
    begin_rounds();
    for (std::uint32_t now = 0; now < 3; ++now) {
        ASSERT_EQ(group().round, now);
        play_round({0, 1, 2, 3});
        EXPECT_EQ(round(now).entries.size(), 4u);
        EXPECT_EQ(round(now).total, 40u);
        EXPECT_EQ(round(now).holds, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    }
    deliver({0, 1, 2, 3});
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(run(index).earned, price * U256(3)) << index;
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::settled);
    EXPECT_EQ(all<Slashed>().size(), 0u);
}

TEST_F(GroupLife, WhoDoesNotTakeInTheLastRecordsIsNotPaidForTheLastRound) {
    start_group(small_terms());
    const U256 price = group().price;
    begin_rounds();
    for (std::uint32_t now = 0; now < 3; ++now) play_round({0, 1, 2, 3});
    ASSERT_EQ(group().phase, GroupPhase::over);
    // All that they sent becomes final, and nobody finishes but member 0.
    ASSERT_EQ(finish(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run(1).finalised == 3; }));
    EXPECT_EQ(run(1).earned, price * U256(2));
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left; }));
    const U256 escrow = task().escrow;
    EXPECT_GE(escrow, price * U256(3)) << "of three members and one round";
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::delivering; }));
    EXPECT_EQ(run(0).earned, price * U256(3));
    for (std::uint32_t index = 1; index < 4; ++index) {
        EXPECT_EQ(run(index).earned, price * U256(2)) << index;
        EXPECT_TRUE(run(index).locked.is_zero()) << index;
    }
    EXPECT_TRUE(all<Slashed>().empty());
}

/// The last segment is always audited. That nobody audits it is not the member's fault (14.12.5).
TEST_F(GroupLife, WhoTookInAllAndWaitsForAuditorsInVainIsPaidForTheLastRound) {
    start_group(small_terms());
    const U256 price = group().price;
    begin_rounds();
    for (std::uint32_t now = 0; now < 3; ++now) play_round({0, 1, 2, 3});
    ASSERT_EQ(finish(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 3; }));
    ASSERT_EQ(run(0).earned, price * U256(2));
    auto fx = Effects{state, params, height, {}};
    end_waiting_run(fx, 1, 0);
    EXPECT_EQ(run(0).state, RunState::left);
    EXPECT_EQ(run(0).earned, price * U256(3));
    end_waiting_run(fx, 1, 1);
    EXPECT_EQ(run(1).earned, price * U256(2)) << "it has not taken in the last records";
}

TEST_F(GroupLife, ALeaverIsPaidForAllThatItSentBeforeTheLastRound) {
    start_group(small_terms());
    begin_rounds();
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send(solver_of(3), LeaveTask{1, 3}), CallStatus::ok);
    play_round({0, 1, 2});
    deliver({0, 1, 2});
    EXPECT_EQ(run(3).earned, group().price * U256(2));
    for (std::uint32_t index = 0; index < 3; ++index) EXPECT_EQ(run(index).earned, group().price * U256(3));
}

}  // namespace
}  // namespace retrace::contracts
