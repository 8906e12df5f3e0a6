// SPDX-License-Identifier: MIT
// Members that are away, leave, and join; what they earn. SPEC 21.5, 21.9, 21.10.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupMembers : public GroupTest {
protected:
    void start(const market::GroupSpec& terms,
               const std::vector<std::string>& names = {"alice", "bob", "carol", "dave"}) {
        start_group(terms, names);
        begin_rounds();
    }
    CallStatus join(std::string_view name, std::uint32_t anchor, std::uint64_t index) {
        return send(name, JoinTask{1, anchor, index}, market::join_fee(params, views::spec(state, 1).value(), index));
    }
    /// The member's first `count` segments are finalised.
    void finalise(std::uint32_t index, std::uint64_t count) {
        ASSERT_TRUE(serve_until([&] { return run(index).finalised >= count; }));
    }
};

TEST_F(GroupMembers, PayFollowsTheInnerStepsOfRecordedMessages) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index, index == 3 ? 5 : 10), CallStatus::ok);
    spread({0, 1, 2, 3}, {2});  // The others have not got the message of run 2.
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(round(0).total, 25u);
    play_round({0, 1, 2, 3}, {}, 3);
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) finalise(index, 2);
    const U256 price = group().price;  // 430
    EXPECT_EQ(run(0).earned, price + U256(129));
    EXPECT_EQ(run(1).earned, price + U256(129));
    EXPECT_EQ(run(2).earned, U256(129)) << "its first message was not recorded";
    EXPECT_EQ(run(3).earned, U256(215) + U256(129));
}

TEST_F(GroupMembers, NothingIsPaidBeforeTheRoundOfItsMessageIsClosed) {
    auto terms = small_terms();
    terms.round_blocks = 200;
    start(terms);
    ASSERT_EQ(train(0), CallStatus::ok);
    for (int i = 0; i < 100; ++i) serve_block();
    const auto first = segment(0, 0);
    ASSERT_EQ(first.state, market::SegmentState::verified);
    ASSERT_LT(first.window_end, height);
    EXPECT_EQ(run(0).finalised, 0u);
    ASSERT_EQ(train(1), CallStatus::ok);
    ASSERT_EQ(train(2), CallStatus::ok);
    ASSERT_EQ(train(3), CallStatus::ok);
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    serve_block();
    EXPECT_EQ(run(0).earned, group().price);
}

TEST_F(GroupMembers, AbsenceIsFreeAndTheMemberCatchesUpFromTheRecords) {
    auto terms = small_terms();
    terms.absence_limit = 3;
    terms.rounds = 4;
    start(terms);
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2});
    play_round({0, 1, 2});
    EXPECT_EQ(member(3).absent, 2u);
    EXPECT_EQ(send(solver_of(3), next_commit(3, 2, 0)), CallStatus::wrong_base) << "it has to take in all it can";
    play_round({0, 1, 2, 3});
    EXPECT_EQ(member(3).absent, 1u) << "falls by one with each message";
    const auto caught_up = views::member_segment(state, 1, 3, 1).value();
    EXPECT_EQ(caught_up.from, 0u);
    EXPECT_EQ(caught_up.base, 3u);
    EXPECT_EQ(caught_up.positions, (1 + 4 + 1) + 2 * (1 + 3 + 1) + 10u + 1);
    deliver({0, 1, 2, 3});
    EXPECT_EQ(run(3).earned, group().price * U256(2));
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupMembers, OpeningsWaitForAMemberThatIsAway) {
    const auto terms = small_terms();
    start(terms);
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    const auto asked = [&] {  // Nobody opens the start of its first segment, which is audited.
        const auto audits = open_audit_ids(1, 3);
        return !audits.empty() && views::audit(state, audits[0])->phase == AuditPhase::opening;
    };
    while (!asked()) next_block();
    const std::uint64_t longest = terms.round_blocks + 2 * (terms.fetch_blocks + terms.reveal_blocks) + 5;
    const std::uint64_t due = height + terms.absence_limit * longest;
    EXPECT_EQ(views::audit(state, open_audit_ids(1, 3)[0])->deadline, due);
    while (height < due) next_block();
    EXPECT_EQ(run(3).state, RunState::running);
    next_block();
    EXPECT_EQ(run(3).state, RunState::forfeited);
}

TEST_F(GroupMembers, AMemberThatIsAwayForTooLongLeavesWithItsLock) {
    start(small_terms());
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2});
    play_round({0, 1, 2});
    EXPECT_TRUE(member(3).leaving);
    EXPECT_EQ(group().senders, 3u);
    deliver({0, 1, 2});
    EXPECT_EQ(run(3).state, RunState::left);
    EXPECT_EQ(run(3).earned, group().price) << "its segment was verified and its message recorded";
    EXPECT_TRUE(run(3).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupMembers, WhoLeavesKeepsItsLockAtStakeUntilItsSegmentsAreFinalised) {
    auto terms = small_terms();
    terms.rounds = 8;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    EXPECT_EQ(run(3).state, RunState::running);
    EXPECT_FALSE(run(3).locked.is_zero());
    EXPECT_EQ(send("dave", next_commit(3, 1, 5)), CallStatus::too_late);
    EXPECT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::too_late);
    play_round({0, 1, 2});
    EXPECT_EQ(round(1).entries.size(), 3u) << "nobody waits for it";
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left; }));
    EXPECT_EQ(run(3).finalised, 1u);
    EXPECT_EQ(run(3).earned, group().price);
    EXPECT_EQ(task().active.size(), 3u);
}

TEST_F(GroupMembers, AFreeSeatIsTakenAtTheSharedTensorsOfAFinalisedState) {
    auto terms = small_terms();
    terms.rounds = 12;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    add_solver("erin");
    EXPECT_EQ(join("erin", 0, 1), CallStatus::seats_taken);
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left; }));
    play_round({0, 1, 2});
    finalise(0, 2);
    const U256 budget = task().audit_budget;
    ASSERT_EQ(join("erin", 0, 2), CallStatus::ok) << last.revert_reason;
    const market::Run joined = run(4);
    EXPECT_EQ(joined.state, RunState::running);
    EXPECT_EQ(joined.price, group().price);
    EXPECT_EQ(joined.locked, market::stake_floor(params, views::spec(state, 1).value()));
    EXPECT_EQ(task().audit_budget, budget + market::join_fee(params, views::spec(state, 1).value(), 2));
    const std::uint32_t entered = views::member_segment(state, 1, 0, 1)->base;
    EXPECT_EQ(member(4).entered, entered);
    EXPECT_EQ(member(4).anchor, views::member_segment(state, 1, 0, 1)->shared);
    EXPECT_EQ(group().senders, 3u) << "it has no first state yet";
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    EXPECT_EQ(group().senders, 4u);
    const std::uint32_t now = group().round;
    play_round({0, 1, 2, 4});
    EXPECT_EQ(round(now).entries.size(), 4u);
    EXPECT_EQ(views::member_segment(state, 1, 4, 0)->from, entered);
    finalise(4, 1);
    EXPECT_EQ(run(4).earned, group().price);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupMembers, AJoinerThatNeverBeginsLosesTheSilencePenalty) {
    auto terms = small_terms();
    terms.rounds = 30;
    terms.absence_limit = 8;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    add_solver("erin");
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left && run(0).finalised > 0; }));
    ASSERT_EQ(join("erin", 0, 1), CallStatus::ok);
    EXPECT_EQ(send("erin", LeaveTask{1, 4}), CallStatus::not_committed);
    ASSERT_TRUE(serve_until([&] { return run(4).state == RunState::forfeited; }));
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("erin"));
    EXPECT_EQ(join("erin", 0, 1), CallStatus::excluded);
}

TEST_F(GroupMembers, AMemberThatDoesNotTakeInTheLastRecordsLeavesWithoutHoldingTheDelivery) {
    start(small_terms());
    for (int i = 0; i < 3; ++i) play_round({0, 1, 2, 3});
    ASSERT_EQ(group().phase, GroupPhase::over);
    EXPECT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::wrong_group_phase);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(finish(index), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::delivering; }));
    EXPECT_EQ(run(3).state, RunState::left);
    EXPECT_EQ(run(3).earned, group().price * U256(2)) << "the last round is paid to those that finish (21.9.1)";
    EXPECT_EQ(run(0).state, RunState::delivering);
}

TEST_F(GroupMembers, AMemberWithNothingLeftToTakeInHasFinished) {
    auto terms = small_terms();
    terms.rounds = 2;
    start(terms);
    play_round({0, 1, 2, 3});
    // It catches up in the last round and sends nothing; the round stays without messages.
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(finish(index), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::over; }));
    EXPECT_EQ(member(0).base, 2u);
    EXPECT_EQ(send("alice", next_commit(0, 2, 0)), CallStatus::wrong_base);
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::delivering; }));
    EXPECT_EQ(send("requester", ReportUnavailable{4, 1, 0, 2, 0, 0}, params.report_fee), CallStatus::ok)
        << "its last state is the model: " << last.revert_reason;
}

TEST_F(GroupMembers, TheTaskExpiresWhenNobodyIsLeft) {
    start(small_terms());
    ASSERT_TRUE(serve_until([&] { return task().state == TaskState::expired; }));
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(run(index).state, RunState::left);
    EXPECT_TRUE(task().escrow.is_zero());
    EXPECT_TRUE(all<Slashed>().empty()) << "absence is free";
}

TEST_F(GroupMembers, AFrozenGroupIsReleased) {
    start(small_terms());
    play_round({0, 1, 2, 3});
    auto fx = Effects{state, params, height, {}};
    freeze_task(fx, 1);
    EXPECT_EQ(train(0), CallStatus::task_frozen);
    const std::uint32_t now = group().round;
    ASSERT_TRUE(advance_until([&] { return task().state == TaskState::released; }, params.unbond_blocks + 20));
    EXPECT_EQ(group().round, now) << "its clock stands still";
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_TRUE(run(index).locked.is_zero());
    EXPECT_TRUE(all<Slashed>().empty());
    advance(30);
    EXPECT_EQ(group().round, now);
}

}  // namespace
}  // namespace retrace::contracts
