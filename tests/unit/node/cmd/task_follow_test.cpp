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

}  // namespace
}  // namespace retrace::node::cli
