// SPDX-License-Identifier: MIT
#include "market/rollbacks.hpp"

#include <gtest/gtest.h>

#include "market/odds.hpp"

namespace retrace::market {
namespace {

/// Run 3 lied in round 5 while round 8 was open, run 1 in round 4 while round 12 was.
const std::vector<Rollback> kNoted = {{3, 5, 8, true}, {1, 4, 12, true}};

TEST(Rollbacks, ASegmentIsVoidIfALaterRollbackUndidARecordBelowItsBase) {
    EXPECT_FALSE(is_void(kNoted, 0, 4));
    EXPECT_TRUE(is_void(kNoted, 0, 5)) << "it took in record 4";
    EXPECT_FALSE(is_void({kNoted[0]}, 0, 5)) << "its message of round 5 stands";
    EXPECT_TRUE(is_void({kNoted[0]}, 0, 6));
    EXPECT_FALSE(is_void({kNoted[0]}, 1, 9)) << "it knows of it";
    EXPECT_TRUE(is_void(kNoted, 1, 9));
    EXPECT_FALSE(is_void(kNoted, 2, 13));
    EXPECT_FALSE(is_void({}, 0, 100));
}

TEST(Rollbacks, SegmentsReadWhatTheirAttemptLeaves) {
    Round record;
    record.index = 5;
    record.entries = {{1, 10, 0, 10}, {3, 8, 0, 8}};
    record.total = 18;
    Round first = record;
    undo_entries(kNoted, 0, 5, first);
    EXPECT_EQ(first, record);
    undo_entries(kNoted, 1, 5, first);
    ASSERT_EQ(first.entries.size(), 1u);
    EXPECT_EQ(first.total, 10u);
    Round second = record;
    undo_entries(kNoted, 2, 5, second);
    EXPECT_TRUE(second.entries.empty()) << "it is between the round of the second lie and the one open then";
    EXPECT_EQ(second.total, 0u);
    for (std::uint32_t round : {6u, 8u}) EXPECT_TRUE(is_emptied(kNoted, 1, round));
    for (std::uint32_t round : {4u, 5u, 9u}) EXPECT_FALSE(is_emptied(kNoted, 1, round));
    EXPECT_TRUE(is_undone(kNoted, 2, 4, 1));
    EXPECT_FALSE(is_undone(kNoted, 2, 4, 3));
}

TEST(Rollbacks, SegmentsOfOneBaseAreAlikeIfTheyReadTheSame) {
    EXPECT_EQ(changed_by(kNoted, 0, 13), 0u);
    EXPECT_EQ(changed_by(kNoted, 2, 4), 0u) << "no record below base 4 was changed";
    EXPECT_EQ(changed_by(kNoted, 2, 5), 2u);
    EXPECT_EQ(changed_by(kNoted, 2, 13), 3u);
    EXPECT_EQ(changed_by(kNoted, 1, 13), 1u);
}

TEST(Rollbacks, ARunsAttemptsSayWhereItsSegmentsStart) {
    const MemberAttempts attempts{{{6, 3, 1}, {9, 9, 2}}};
    EXPECT_EQ(start_of(attempts, 5), 5u);
    EXPECT_EQ(start_of(attempts, 6), 3u);
    EXPECT_EQ(start_of(attempts, 7), 7u);
    EXPECT_EQ(attempt_of(attempts, 5), 0u);
    EXPECT_EQ(attempt_of(attempts, 8), 1u);
    EXPECT_EQ(attempt_of(attempts, 9), 2u);
}

TEST(Rollbacks, OnlyARoundThatWasOpenIsEndedByARollback) {
    EXPECT_TRUE(ended_by_rollback(kNoted, 8));
    EXPECT_FALSE(ended_by_rollback(kNoted, 7));
    EXPECT_FALSE(ended_by_rollback({{3, 5, 8, false}}, 8));
}

TEST(Rollbacks, TheFloorCoversWhatALossUndoes) {
    TaskSpec spec;
    spec.price_ceiling = 1'001;
    spec.replicas = 5;
    GroupSpec terms;
    EXPECT_TRUE(rollback_stake(spec, terms).is_zero());
    EXPECT_EQ(stake_floor(Params{}, spec, terms), stake_floor(Params{}, spec));
    terms.rollbacks = 1;
    terms.ahead = 3;
    EXPECT_EQ(rollback_stake(spec, terms), U256(15'015)) << "5/4 of 4 · 3 · 1,001, rounded up";
    // Fewer than `ahead` rounds and the open one become void, each with a segment of each other member.
    EXPECT_GE(rollback_stake(spec, terms), spec.price_ceiling * U256(3 * 4));
    EXPECT_EQ(*stake_floor(Params{}, spec, terms), *stake_floor(Params{}, spec) + rollback_stake(spec, terms));
}

}  // namespace
}  // namespace retrace::market
