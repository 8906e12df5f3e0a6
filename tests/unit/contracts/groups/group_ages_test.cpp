// SPDX-License-Identifier: MIT
// Messages of slow members: their inner steps began rounds before the one that they are sent in. SPEC 21.5, 21.10,
// market 11.5.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupAges : public GroupTest {
protected:
    static constexpr std::uint32_t kMaxAge = 2;

    GroupAges() {
        terms_ = small_terms();
        terms_.rounds = 12;
        terms_.absence_limit = 3;
        terms_.max_age = kMaxAge;
    }
    void start() {
        start_group(terms_);
        begin_rounds();
    }
    std::string train_from(std::uint32_t index, std::uint32_t base, std::uint32_t steps = 10) {
        return std::string(slug(send(solver_of(index), next_commit(index, base, steps))));
    }
    /// These and member 3, whose inner steps began at `base`, send in the open round.
    void play_with_old(std::uint32_t base, const std::set<std::uint32_t>& hidden = {}) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        ASSERT_EQ(train_from(3, base), "ok");
        spread({0, 1, 2, 3}, hidden);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }

    market::GroupSpec terms_;
};

TEST_F(GroupAges, AnOldMessageWeighsLessAndIsPaidAsAnyOther) {
    start();
    for (int i = 0; i < 2; ++i) play_round({0, 1, 2});
    play_with_old(0);
    EXPECT_EQ(round(0).total, 90u) << "10 steps of three members, of age 0 of at most 2";
    const market::Round record = round(2);
    ASSERT_EQ(record.entries.size(), 4u);
    EXPECT_EQ(record.entries[0], (market::RoundEntry{0, 10, 0, 30}));
    EXPECT_EQ(record.entries[3], (market::RoundEntry{3, 10, 2, 10}));
    EXPECT_EQ(record.total, 100u);
    const auto segment = views::member_segment(state, 1, 3, 0).value();
    EXPECT_EQ(segment.base, 0u);
    EXPECT_EQ(segment.age, 2u);
    EXPECT_EQ(segment.positions, 11u) << "it takes in no record";
    ASSERT_TRUE(serve_until([&] { return run(3).finalised == 1; }));
    EXPECT_EQ(run(3).earned, group().price);
    // The next one begins after that round, and takes in its record.
    ASSERT_EQ(train_from(3, 3), "ok");
    EXPECT_EQ(views::member_segment(state, 1, 3, 1)->from, 0u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupAges, OneOlderThanTheTermsAllowOrOfARoundBeforeItsLastMessageIsRefused) {
    terms_.absence_limit = 5;
    terms_.keep_rounds = 8;
    start();
    play_round({0, 1, 2});
    play_with_old(0);
    play_round({0, 1, 2});
    EXPECT_EQ(train_from(3, 1), "already_committed") << "its last message is of round 1";
    EXPECT_EQ(train_from(3, 4), "wrong_base") << "round 3 is open";
    ASSERT_EQ(train_from(3, 2), "ok");
    EXPECT_EQ(member(3).last_round, 3u);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().round == 4; }));
    for (int i = 0; i < 3; ++i) play_round({0, 1, 2});
    ASSERT_EQ(group().round, 7u);
    EXPECT_EQ(train_from(3, 4), "wrong_base") << "three rounds before";
    EXPECT_EQ(train_from(3, 5), "ok");
}

TEST_F(GroupAges, RoundsThatCloseEmptyMeanwhileDoNotMatter) {
    start();
    ASSERT_TRUE(serve_until([&] { return group().round == 2; })) << "nobody was ready";
    ASSERT_TRUE(round(0).entries.empty() && round(1).entries.empty());
    play_with_old(0);
    EXPECT_EQ(views::member_segment(state, 1, 3, 0)->from, 0u);
    EXPECT_EQ(views::member_segment(state, 1, 0, 0)->from, 2u);
    EXPECT_EQ(round(2).entries.size(), 4u);
    EXPECT_EQ(train_from(3, 2), "already_committed");
    ASSERT_TRUE(serve_until([&] { return run(3).finalised == 1; }));
    EXPECT_EQ(run(3).earned, group().price);
}

/// Nobody makes a segment, and its audit, of each record that it takes in.
TEST_F(GroupAges, ASegmentWithoutInnerStepsStillTakesInAllRecords) {
    start();
    for (int i = 0; i < 2; ++i) play_round({0, 1, 2});
    EXPECT_EQ(train_from(3, 1, 0), "wrong_base");
    EXPECT_EQ(train_from(3, 2, 0), "ok");
}

TEST_F(GroupAges, AMessageThatNoRecordHasIsTakenBackWithTheRecordOfItsRound) {
    start();
    play_round({0, 1, 2});
    play_with_old(0, {3});
    EXPECT_EQ(round(1).entries.size(), 3u);
    ASSERT_EQ(train_from(3, 2), "ok");
    const auto segment = views::member_segment(state, 1, 3, 1).value();
    EXPECT_EQ(segment.omitted, 1u);
    EXPECT_EQ(segment.positions, 5u + 5u + 1u + 11u) << "two records, restore, ten inner steps and press";
    ASSERT_TRUE(serve_until([&] { return run(3).finalised >= 1; }));
    EXPECT_TRUE(run(3).earned.is_zero());
}

TEST_F(GroupAges, NothingIsFinalBeforeTheRoundThatAMessageWasSentInIsClosed) {
    terms_.round_blocks = 200;
    terms_.absence_limit = 2;
    terms_.max_age = 1;
    start();
    play_round({0, 1, 2});
    ASSERT_EQ(train_from(3, 0), "ok");
    for (int i = 0; i < 100; ++i) serve_block();
    ASSERT_EQ(group().round, 1u);
    EXPECT_EQ(segment(0, 3).state, market::SegmentState::verified);
    EXPECT_EQ(run(3).finalised, 0u);
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    serve_block();
    EXPECT_EQ(run(3).earned, group().price);
}

TEST_F(GroupAges, WhoSendsOnceInItsTimeIsNotAbsentAndWhoSleepsLeaves) {
    start();
    for (std::uint32_t base = 0; base < 9; base += 3) {
        for (int i = 0; i < 2; ++i) play_round({0, 1, 2});
        EXPECT_EQ(member(3).absent, 2u);
        play_with_old(base);
        EXPECT_EQ(member(3).absent, 0u);
    }
    for (int i = 0; i < 3; ++i) play_round({0, 1, 2});
    EXPECT_TRUE(member(3).leaving);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupAges, AWrongOldMessageConvictsItsMemberAlone) {
    start();
    play_round({0, 1, 2});
    wrong_members.insert(3);
    play_with_old(0);
    wrong_members.clear();
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::forfeited; }));
    EXPECT_TRUE(round(1).entries.back() == (market::RoundEntry{3, 10, 1, 20})) << "the record stands";
    play_round({0, 1, 2});
    for (const std::uint32_t index : {0u, 1u, 2u}) EXPECT_EQ(run(index).state, RunState::running);
}

}  // namespace
}  // namespace retrace::contracts
