// SPDX-License-Identifier: MIT
// How long a member may be away, and what the others wait for meanwhile. SPEC 21.5, 21.6.7, 21.10.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupAbsence : public GroupTest {
protected:
    void start(const market::GroupSpec& terms) {
        start_group(terms);
        begin_rounds();
    }
    /// These send, and nobody lists: the record is empty.
    void play_empty(const std::vector<std::uint32_t>& members) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : members) ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
        ASSERT_TRUE(round(now).entries.empty());
    }
};

TEST_F(GroupAbsence, ALongerRoundCountsAsMoreAbsences) {
    auto terms = small_terms();
    terms.rounds = 8;
    terms.fetch_blocks = terms.reveal_blocks = 1;  // A round lasts 20 + 2 · 2 + 5 = 29 blocks at most.
    terms.absence_limit = 4;
    start(terms);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(member(3).absent, 1u);
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    EXPECT_EQ(member(3).absent, 3u) << "41 blocks";
    const std::uint64_t until = group().deadline;
    EXPECT_EQ(until, height + 80);
    while (height < until) serve_block();
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_EQ(train(1), CallStatus::ok);
    serve_block();
    ASSERT_TRUE(serve_until([&] { return group().round == 3; }));
    EXPECT_EQ(member(0).absent, 2u);
    EXPECT_TRUE(member(3).leaving) << "81 blocks and more";
}

TEST_F(GroupAbsence, WhenTheRoundsAreOverOpeningsWaitOnceForWhoWasAway) {
    auto terms = small_terms();
    terms.rounds = 2;
    start(terms);
    auto spec = views::spec(state, 1).value();
    spec.audit_bp = 1;
    store(state, keys::spec(1), spec);
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    ASSERT_EQ(group().phase, GroupPhase::over);
    const std::uint64_t over = round(1).height;
    const auto due = [&] { return views::checkpoint(state, 1, 3, 2)->open_deadline; };
    ASSERT_EQ(due(), 0u);
    ASSERT_TRUE(advance_until([&] { return due() != 0; }));
    EXPECT_GT(height, over);
    EXPECT_EQ(due(), over + absence_blocks(terms)) << "and not " << height + absence_blocks(terms);
}

TEST_F(GroupAbsence, EmptyRecordsBehindTheBaseOfAJoinerAreTakenIn) {
    auto terms = small_terms();
    terms.rounds = 12;
    terms.keep_rounds = 2;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    play_empty({0, 1, 2});
    play_empty({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left && run(0).finalised >= 2; }));
    add_solver("erin");
    ASSERT_EQ(group().round, 3u);
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 2);
    ASSERT_EQ(send("erin", JoinTask{1, 0, 2}, fee), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    ASSERT_EQ(member(4).base, 1u);
    play_empty({0, 1, 2});
    ASSERT_FALSE(member(4).leaving);
    ASSERT_EQ(train(4), CallStatus::ok) << last.revert_reason;
    const auto segment = views::member_segment(state, 1, 4, 0).value();
    EXPECT_EQ(segment.from, 4u) << "more than keep_rounds above the base of its first state";
    EXPECT_EQ(segment.positions, 11u);
    play_round({0, 1, 2});
    EXPECT_EQ(round(4).entries.size(), 4u);
    ASSERT_TRUE(serve_until([&] { return run(4).finalised == 1; }));
    EXPECT_EQ(run(4).earned, group().price);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupAbsence, AJoinersAbsenceCountsFromItsFirstState) {
    auto terms = small_terms();
    terms.rounds = 30;
    terms.fetch_blocks = terms.reveal_blocks = 1;  // A round lasts 20 + 2 · 2 + 5 = 29 blocks at most.
    terms.absence_limit = terms.keep_rounds = 16;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    add_solver("erin");
    const auto rounds_are_long = [&] { return group().deadline > height + 40; };
    ASSERT_TRUE(
        serve_until([&] { return rounds_are_long() && run(3).state == RunState::left && run(0).finalised > 0; }));
    const std::uint32_t now = group().round;
    const std::uint32_t absent = member(0).absent;
    const std::uint64_t until = group().deadline;
    while (height + 2 < until) serve_block();
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 1);
    ASSERT_EQ(send("erin", JoinTask{1, 0, 1}, fee), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    EXPECT_GT(member(0).absent, absent + 1) << "the round took as long as several";
    EXPECT_EQ(member(4).absent, 1u);
}

TEST_F(GroupAbsence, AJoinerThatIsFarBehindAtItsFirstStateLeavesWithItsLock) {
    auto terms = small_terms();
    terms.rounds = 12;
    terms.keep_rounds = 2;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    play_empty({0, 1, 2});
    play_empty({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left && run(0).finalised >= 2; }));
    add_solver("erin");
    ASSERT_EQ(group().round, 3u);
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 2);
    ASSERT_EQ(send("erin", JoinTask{1, 0, 2}, fee), CallStatus::ok) << last.revert_reason;
    play_empty({0, 1, 2});
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    EXPECT_TRUE(member(4).leaving) << "three rounds behind";
    ASSERT_TRUE(serve_until([&] { return run(4).state == RunState::left; }));
    EXPECT_EQ(group().senders, 3u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupAbsence, EmptyRecordsBehindTheLastSegmentAreTakenIn) {
    auto terms = small_terms();
    terms.rounds = 4;
    terms.keep_rounds = 2;
    start(terms);
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    play_round({0, 1, 2});
    play_empty({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left && run(0).finalised >= 2; }));
    add_solver("erin");
    ASSERT_EQ(group().round, 3u);
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 2);
    ASSERT_EQ(send("erin", JoinTask{1, 0, 2}, fee), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    play_empty({0, 1, 2});
    ASSERT_EQ(group().phase, GroupPhase::over);
    ASSERT_EQ(send("erin", next_commit(4, 3, 0)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(member(4).base, 4u) << "nothing is left to take in";
    deliver({0, 1, 2});
    EXPECT_EQ(run(4).state, RunState::delivering);
}

}  // namespace
}  // namespace retrace::contracts
