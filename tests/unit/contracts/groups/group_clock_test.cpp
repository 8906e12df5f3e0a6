// SPDX-License-Identifier: MIT
// The phases of a round, and what its record holds. SPEC 21.4, 21.6.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupClock : public GroupTest {
protected:
    void start(const market::GroupSpec& terms) {
        start_group(terms);
        begin_rounds();
    }
    /// Lists and reveals these bitmaps; the round then closes.
    void list(const std::map<std::uint32_t, Bytes>& bitmaps) {
        const std::uint32_t now = group().round;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
        for (const auto& [index, bits] : bitmaps) ASSERT_EQ(list_messages(index, bits), CallStatus::ok);
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const auto& [index, bits] : bitmaps) ASSERT_EQ(show_messages(index, bits), CallStatus::ok);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    std::vector<std::uint32_t> recorded(std::uint32_t index) const {
        std::vector<std::uint32_t> out;
        for (const market::RoundEntry& entry : round(index).entries) out.push_back(entry.run);
        return out;
    }
    using Runs = std::vector<std::uint32_t>;
};

TEST_F(GroupClock, TrainingEndsWhenAllHaveSentTheirMessages) {
    start(small_terms());
    const std::uint64_t deadline = group().deadline;
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    EXPECT_EQ(group().phase, GroupPhase::training) << "phases change at the beginning of blocks";
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::spreading);
    EXPECT_LT(height, deadline);
    EXPECT_EQ(group().deadline, height + small_terms().fetch_blocks);
}

TEST_F(GroupClock, TheOthersHaveTheGraceOnceFourFifthsHaveSent) {
    start(small_terms());
    const std::uint64_t began = height;
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_EQ(train(1), CallStatus::ok);
    ASSERT_EQ(train(2), CallStatus::ok);
    EXPECT_EQ(group().deadline, began + 20) << "3 of 4 are less than 80 %";
    spread({0, 1, 2});
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    ASSERT_EQ(group().committed_before, 3u);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    EXPECT_EQ(group().deadline, height + 4) << "3 of 3 of the previous round";
    const std::uint64_t until = group().deadline;
    while (height < until) next_block();
    ASSERT_EQ(train(3), CallStatus::ok) << "the grace includes its last block";
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::spreading);
}

TEST_F(GroupClock, AFewFastMembersDoNotShutOutTheOthersAfterAMissedRound) {
    start(small_terms());
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    ASSERT_EQ(group().committed_before, 1u);
    ASSERT_EQ(train(0), CallStatus::ok);
    EXPECT_EQ(group().deadline, round(0).height + 20) << "one of four is less than 80 % of half of them";
    ASSERT_EQ(train(1), CallStatus::ok);
    EXPECT_EQ(group().deadline, height + 4);
}

TEST_F(GroupClock, ARoundEndsInTimeAlsoIfNobodySends) {
    start(small_terms());
    const std::uint64_t until = group().deadline;
    while (height < until) serve_block();
    EXPECT_EQ(group().round, 0u);
    serve_block();
    EXPECT_EQ(group().round, 1u);
    EXPECT_EQ(round(0).committed, 0u);
    EXPECT_EQ(group().phase, GroupPhase::training);
    EXPECT_EQ(group().deadline, height + 40) << "a round that nobody plays doubles the time of the next";
    next_block();
    ASSERT_EQ(train(0), CallStatus::ok);
    EXPECT_EQ(group().deadline, height + 20) << "but the others wait no longer than a round for the first message";
    for (const std::uint32_t index : {1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    EXPECT_EQ(group().deadline, height + 20);
}

TEST_F(GroupClock, NobodyElseCanHaveTheOnlyMessage) {
    start(small_terms());
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(round(0).committed, 1u);
    EXPECT_TRUE(round(0).entries.empty());
    EXPECT_FALSE(views::round_message(state, 1, 0, 0)->recorded);
}

TEST_F(GroupClock, AMessageIsRecordedIfTwoThirdsOfTheOthersHaveIt) {
    start(small_terms());
    for (const std::uint32_t index : {2u, 1u, 0u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    // Run 0 has two of three others, run 1 one of three.
    list({{0, bitmap(0, {1})}, {1, bitmap(1)}, {2, bitmap(2, {1})}, {3, bitmap(3, {0})}});
    EXPECT_EQ(recorded(0), (Runs{0, 2, 3}));
    EXPECT_TRUE(views::round_message(state, 1, 0, 0)->recorded);
    EXPECT_FALSE(views::round_message(state, 1, 0, 1)->recorded);
    EXPECT_EQ(round(0).committed, 4u);
    EXPECT_EQ(round(0).holds, (Runs{0, 1, 2, 3}));
}

TEST_F(GroupClock, HalfOfTheSendersMustRevealElseTheTimeToFetchIsGivenOnceMore) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    ASSERT_EQ(list_messages(0, bitmap(0)), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
    ASSERT_EQ(show_messages(0, bitmap(0)), CallStatus::ok);
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::spreading);
    EXPECT_TRUE(group().extended);
    EXPECT_TRUE(group().listed.empty());
    EXPECT_FALSE(views::holding(state, 1, 0, 0).has_value());
    list({{0, bitmap(0)}, {1, bitmap(1)}});
    EXPECT_EQ(recorded(0), (Runs{0, 1, 2, 3})) << "two of four revealed";
}

/// 21.6.8.
TEST_F(GroupClock, ListsOfAClosedRoundAreRemovedAndTakenNoMore) {
    start(small_terms());
    play_round({0, 1, 2, 3});
    ASSERT_EQ(group().round, 1u);
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) EXPECT_FALSE(views::holding(state, 1, 0, index).has_value());
    EXPECT_EQ(round(0).holds, (Runs{0, 1, 2, 3})) << "whom to fetch from";
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    const Hash32 blind = market::holding_commitment(1, 0, 0, word("holding"), bitmap(0));
    EXPECT_EQ(send("alice", CommitHoldings{1, 0, 0, blind}), CallStatus::wrong_round);
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(list_messages(index, bitmap(index)), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
    EXPECT_EQ(send("alice", RevealHoldings{1, 0, 0, bitmap(0), word("holding")}), CallStatus::wrong_round);
}

TEST_F(GroupClock, WithoutEnoughListsTheRoundClosesEmpty) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    const std::uint64_t sent = height;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(height, sent + 1 + 2 * (6 + 1)) << "the time to fetch, twice";
    EXPECT_TRUE(round(0).entries.empty());
    EXPECT_EQ(round(0).committed, 4u);
    EXPECT_EQ(member(0).absent, 0u) << "it has sent its message";
    // A member takes back what was not recorded.
    ASSERT_EQ(train(0), CallStatus::ok);
    const auto segment = views::member_segment(state, 1, 0, 1).value();
    EXPECT_EQ(segment.omitted, 0u);
    EXPECT_EQ(segment.positions, 1u + 10 + 1) << "restore, the inner steps, press";
}

TEST_F(GroupClock, AMessageOfARunThatIsOverIsNotRecorded) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    // Run 3 owes the opening of its first state, and does not open it.
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(list_messages(index, bitmap(index)), CallStatus::ok);
    auto fx = Effects{state, params, height, {}};
    books_are_damaged = true;
    forfeit_run(fx, 1, 3, run(3).locked, {}, SlashReason::not_opened);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(show_messages(index, bitmap(index)), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(recorded(0), (Runs{0, 1, 2}));
    EXPECT_EQ(group().senders, 3u);
}

TEST_F(GroupClock, AConvictedMembersMessageDoesNotEndTheWaitForAnother) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    auto fx = Effects{state, params, height, {}};
    forfeit_run(fx, 1, 3, run(3).locked, {}, SlashReason::not_opened);
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::training) << "three have sent and three may, but one of them has not";
    ASSERT_EQ(train(2), CallStatus::ok);
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::spreading);
}

TEST_F(GroupClock, TheGroupBeginsWithoutAMemberThatKeepsItWaiting) {
    start_group(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(commit_first(index), CallStatus::ok);
    next_block();
    ASSERT_EQ(group().phase, GroupPhase::starting);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::training; }));
    // The silent one has lost a part of its lock, and its seat is free.
    EXPECT_EQ(run(3).state, RunState::forfeited);
    EXPECT_EQ(group().senders, 3u);
}

TEST_F(GroupClock, AGroupWithTooFewMembersEndsAndCostsNobody) {
    auto terms = small_terms();
    terms.least = 4;
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
    ASSERT_EQ(post_group(spec_of(terms), terms), CallStatus::ok);
    const U256 before = ledger::balance_of(state, party("requester"));
    auction({{"alice", 1}, {"bob", 2}, {"carol", 3}, {"dave", 4}});
    for (const char* name : {"alice", "bob", "carol"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(commit_first(index), CallStatus::ok);
    EXPECT_EQ(send("alice", LeaveTask{1, 0}), CallStatus::wrong_group_phase) << "nobody leaves before the first round";
    ASSERT_EQ(send("dave", DeclineTask{1}), CallStatus::ok);
    const std::uint64_t until = group().deadline;
    while (height < until) next_block();
    EXPECT_EQ(task().state, TaskState::running) << "somebody may take the seat";
    for (std::uint32_t index = 0; index < 3; ++index) EXPECT_FALSE(run(index).locked.is_zero());
    next_block();
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_GT(ledger::balance_of(state, party("requester")), before);
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(run(index).state, RunState::left);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupClock, ASeatThatIsGivenUpBeforeTheFirstRoundIsFree) {
    auto terms = small_terms();
    terms.least = 4;
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    for (const char* name : {"alice", "bob", "carol", "dave", "erin"}) add_solver(name);
    ASSERT_EQ(post_group(spec_of(terms), terms), CallStatus::ok);
    auction({{"alice", 400}, {"bob", 410}, {"carol", 420}, {"dave", 430}});
    for (const char* name : {"alice", "bob", "carol"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(commit_first(index), CallStatus::ok);
    EXPECT_EQ(send("erin", JoinTask{1, 0, 0}), CallStatus::seats_taken);
    ASSERT_EQ(send("dave", DeclineTask{1}), CallStatus::ok);
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 1);
    EXPECT_EQ(send("erin", JoinTask{1, 0, 1}, fee), CallStatus::wrong_anchor) << "it begins as the others do";
    EXPECT_EQ(send("erin", JoinTask{1, 0, 0}, fee), CallStatus::wrong_value) << "the requester would have it";
    ASSERT_EQ(send("erin", JoinTask{1, 0, 0}), CallStatus::ok) << last.revert_reason;
    EXPECT_TRUE(member(4).anchor.empty());
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::starting);
    ASSERT_EQ(commit_first(4), CallStatus::ok);
    next_block();
    EXPECT_EQ(group().phase, GroupPhase::training);
    play_round({0, 1, 2, 4});
    EXPECT_EQ(recorded(0), (Runs{0, 1, 2, 4}));
}

TEST_F(GroupClock, ASeatThatIsTakenLateDoesNotHoldAGroupThatCannotBegin) {
    auto terms = small_terms();
    terms.least = 4;
    for (const char* name : {"v1", "v2"}) add_verifier(name);
    for (const char* name : {"alice", "bob", "carol", "dave", "erin"}) add_solver(name);
    ASSERT_EQ(post_group(spec_of(terms), terms), CallStatus::ok);
    auction({{"alice", 400}, {"bob", 410}, {"carol", 420}, {"dave", 430}});
    for (const char* name : {"alice", "bob", "carol"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(commit_first(index), CallStatus::ok);
    ASSERT_EQ(send("dave", DeclineTask{1}), CallStatus::ok);
    const std::uint64_t until = group().deadline;
    while (height + 2 < until) next_block();
    ASSERT_EQ(send("erin", JoinTask{1, 0, 0}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(4).deadline, until);
    while (height < until) next_block();
    EXPECT_EQ(task().state, TaskState::running);
    next_block();
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(run(4).state, RunState::forfeited);
    for (const std::uint32_t index : {0u, 1u, 2u}) EXPECT_EQ(run(index).state, RunState::left);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("erin"));
    EXPECT_EQ(all<Slashed>()[0].reason, "not_checkpointed");
}

TEST_F(GroupClock, TheAuctionNeedsTheLeastNumberOfMembers) {
    auto terms = small_terms();
    terms.least = 3;
    for (const char* name : {"alice", "bob", "carol"}) add_solver(name);
    ASSERT_EQ(post_group(spec_of(terms), terms), CallStatus::ok);
    auction({{"alice", 400}, {"bob", 500}});
    EXPECT_EQ(task().state, TaskState::expired);
    ASSERT_EQ(post_group(spec_of(terms), terms), CallStatus::ok);
    auction({{"alice", 400}, {"bob", 500}, {"carol", 300}}, 2);
    EXPECT_EQ(task(2).active.size(), 3u);
    EXPECT_EQ(run(0, 2).price, U256(500));
}

}  // namespace
}  // namespace retrace::contracts
