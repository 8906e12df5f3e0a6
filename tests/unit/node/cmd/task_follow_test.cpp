// SPDX-License-Identifier: MIT
#include "node/cmd/task_follow.hpp"

#include <gtest/gtest.h>

namespace retrace::node::cli {
namespace {

TEST(TaskFollow, AReminderSaysHowLongItStillTakesAndNotWhatWasTold) {
    TaskExplanation why;
    why.height = 120;
    why.state = market::TaskState::running;
    why.why = "the solver trains";
    EXPECT_EQ(reminder_text(why, 1), "block 120  still running");
    why.next_height = 121;
    EXPECT_EQ(reminder_text(why, 0), "block 120  still running; 1 block to block 121");
    why.next_height = 320;
    EXPECT_EQ(reminder_text(why, 2), "block 120  still running; 200 blocks, about 7 min, to block 320");
    why.next_height = 120;
    EXPECT_EQ(reminder_text(why, 2), "block 120  still running");
}

/// A price that rises from auction to auction changes neither the reason nor the remedy.
TEST(TaskFollow, AnotherAuctionAndAHigherPriceAreNews) {
    Told before;
    before.why.reason = TaskReason::no_bids_yet;
    before.why.next_height = 120;
    before.round = 1;
    before.ceiling = 1'000;
    Told now = before;
    now.why.height = 121;
    now.why.next_height = 130;
    EXPECT_TRUE(is_told(before, now)) << "the next thing is awaited as before";
    now.round = 2;
    EXPECT_FALSE(is_told(before, now));
    now = before;
    now.ceiling = 1'500;
    EXPECT_FALSE(is_told(before, now));
    now = before;
    now.why.remedy = "wait";
    EXPECT_FALSE(is_told(before, now));
}

}  // namespace
}  // namespace retrace::node::cli
