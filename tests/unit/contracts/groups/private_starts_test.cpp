// SPDX-License-Identifier: MIT
// First states of members of private groups, whose first segments nobody may be able to audit. SPEC 21.13.31, 21.13.32.
#include "contracts/records/group_positions.hpp"
#include "tests/unit/contracts/groups/private_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

TEST_F(PrivateGroups, AFirstStateIsDisputedUntilWhatTakesInRecordsIsFinal) {
    begin();
    play_private_round({0, 1, 2});
    EXPECT_EQ(views::segment_of_start(state, 1, 0), 1u);
    ASSERT_TRUE(serve_until([&] { return run(0).finalised == 1; }));
    EXPECT_EQ(segment(0, 0).state, SegmentState::unaudited) << "nobody has its data";
    const U256 bond = challenge_bond();
    EXPECT_EQ(send("v1", ChallengeInitial{1, 0, word("right")}, bond), CallStatus::not_opened)
        << "the segment that takes in records is not committed yet";
    for (const std::uint32_t index : {0u, 1u, 2u})
        ASSERT_EQ(send(solver_of(index), next_commit(index, 1, 0)), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send("v1", ChallengeInitial{1, 0, word("right")}, bond), CallStatus::ok) << last.revert_reason;
    const auto dispute = views::dispute(state, 1).value();
    EXPECT_EQ(dispute.segment, 1u);
    const auto game = views::game(state, 1).value();
    EXPECT_TRUE(game.claim.initialiser);
    EXPECT_EQ(game.claim.end_root, states_.at({0, 0}).commitment.root);
    EXPECT_EQ(game.position, facts_of_entry(state, 1, 0));
    EXPECT_EQ(send("v1", ChallengeInitial{1, 0, word("other")}, bond), CallStatus::too_many_open) << "one a party";
    // The accused does not move: nobody opens a false state. Meanwhile nothing behind it is final.
    ASSERT_TRUE(serve_until([&] {
        EXPECT_LE(run(0).finalised, 1u);
        return run(0).state == RunState::forfeited;
    }));
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, run(0).solver);
    for (const std::uint32_t index : {1u, 2u}) EXPECT_EQ(run(index).state, RunState::running);
    EXPECT_TRUE(segment(1, 1).audits != 0 || segment(1, 1).state == SegmentState::waiting_draw);
}

/// 21.13.33. A false first state that is shown last would be compared with nothing: the window of segment 1 could be over.
TEST_F(PrivateGroups, TheFirstStateIsOpenedBeforeAnyOther) {
    begin();
    play_private_round({0, 1, 2});
    for (const std::uint32_t index : {0u, 1u, 2u})
        ASSERT_EQ(send(solver_of(index), next_commit(index, 1, 0)), CallStatus::ok) << last.revert_reason;
    const auto point = [&](std::uint64_t i) { return views::checkpoint(state, 1, 0, i).value(); };
    // Run 0 shows what it has to as late as it may.
    const auto others_act = [&] {
        for (const std::uint32_t index : {1u, 2u}) serve_member(index);
        audit_members();
    };
    ASSERT_TRUE(advance_until([&] { return others_act(), is_opening_due(0, 1, point(1)); }));
    ASSERT_FALSE(point(0).opened);
    EXPECT_TRUE(is_opening_due(0, 0, point(0))) << "the clock of the first state begins no later";
    EXPECT_EQ(send(solver_of(0), opening(0, 1)), CallStatus::not_opened);
    ASSERT_NE(point(0).open_deadline, 0u);
    while (height + 1 < point(0).open_deadline) others_act(), next_block();
    ASSERT_EQ(run(0).state, RunState::running);
    EXPECT_EQ(send(solver_of(0), opening(0, 1)), CallStatus::not_opened);
    ASSERT_EQ(send(solver_of(0), opening(0, 0)), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send(solver_of(0), opening(0, 1)), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return segment(1, 0).window_end != 0; }));
    EXPECT_GE(segment(1, 0).window_end, point(0).open_height + params.challenge_blocks);
    ASSERT_EQ(send("v1", ChallengeInitial{1, 0, word("right")}, challenge_bond()), CallStatus::ok)
        << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return run(0).state == RunState::forfeited; }));
    const auto convictions = list<ConvictedSegment>(state, keys::convictions(1));
    ASSERT_EQ(convictions.size(), 1u);
    EXPECT_EQ(convictions[0].run, 0u);
    EXPECT_EQ(convictions[0].segment, 0u) << "all that follows from its first state is wrong, not its records alone";
}

TEST_F(PrivateGroups, WhatFirstTakesInRecordsIsAlwaysAudited) {
    begin(1);  // Nothing else is drawn.
    play_all_rounds();
    for (std::uint32_t index = 0; index < 3; ++index) {
        EXPECT_EQ(segment(0, index).state, SegmentState::unaudited);
        EXPECT_FALSE(trains(index, 1));
        EXPECT_EQ(segment(1, index).state, SegmentState::verified);
        EXPECT_EQ(segment(3, index).state, SegmentState::unaudited) << "an ordinary one that takes in records";
    }
}

TEST_F(PrivateGroups, NobodyBeginsAtAStateThatMayFollowFromAFalseFirstState) {
    auto terms = private_terms();
    terms.rounds = 30;
    begin(10'000, terms);
    play_private_round({0, 1, 2});
    ASSERT_EQ(send(solver_of(2), LeaveTask{1, 2}), CallStatus::ok);
    add_solver("erin");
    ASSERT_EQ(send("requester", AdmitMembers{1, accounts({"erin"})}), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run(2).state == RunState::left; }));
    const auto join = [&](std::uint64_t index) {
        return send("erin", JoinTask{1, 0, index}, market::join_fee(params, views::spec(state, 1).value(), index));
    };
    ASSERT_GE(run(0).finalised, 1u);
    ASSERT_TRUE(trains(0, 0));
    EXPECT_EQ(join(1), CallStatus::wrong_anchor) << "its shared tensors are those of state 0";
    while (run(0).finalised < 2) play_private_round({0, 1});
    ASSERT_FALSE(trains(0, 1));
    ASSERT_EQ(join(2), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(member(3).anchor, views::member_segment(state, 1, 0, 1)->shared);
}

}  // namespace
}  // namespace retrace::contracts
