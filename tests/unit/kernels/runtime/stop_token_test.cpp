// SPDX-License-Identifier: MIT
#include "kernels/runtime/stop_token.hpp"

#include <gtest/gtest.h>

namespace retrace::kernels {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(StopToken, AnEmptyOneNeverStops) {
    const StopToken never;
    EXPECT_FALSE(never.has_condition());
    EXPECT_FALSE(never.stop_requested());
    EXPECT_FALSE(never.deadline_passed());
    EXPECT_FALSE(never.deadline().has_value());
}

TEST(StopToken, ComputesItsConditionWhenItIsPolled) {
    bool over = false;
    const StopToken stop = [&] { return over; };
    EXPECT_TRUE(stop.has_condition());
    EXPECT_FALSE(stop.stop_requested());
    over = true;
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(stop.deadline_passed()) << "it has none";
}

TEST(StopToken, ADeadlineIsNoCondition) {
    EXPECT_TRUE(StopToken::after(milliseconds(0)).deadline_passed());
    EXPECT_FALSE(StopToken::after(milliseconds(0)).stop_requested());
    const StopToken both = StopToken([] { return true; }).ending_after(hours(1));
    EXPECT_TRUE(both.stop_requested());
    EXPECT_FALSE(both.deadline_passed());
}

}  // namespace
}  // namespace retrace::kernels
