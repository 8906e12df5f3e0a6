// SPDX-License-Identifier: MIT
#include "merkle/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace retrace {
namespace {

Result<int> half(int v) {
    if (v % 2 != 0) return error("odd");
    return v / 2;
}
Result<int> quarter(int v) {
    RETRACE_TRY(h, half(v));
    RETRACE_TRY(q, half(h));
    return q;
}
Status<> both(int a, int b) {
    RETRACE_CHECK(half(a));
    RETRACE_CHECK(half(b));
    return Unit{};
}

TEST(Result, HoldsAValueOrAnError) {
    EXPECT_EQ(half(4).value(), 2);
    EXPECT_EQ(half(3).error().message, "odd");
    EXPECT_EQ(half(3).value_or(9), 9);
}

TEST(Result, TryReturnsTheFirstError) {
    EXPECT_EQ(*quarter(12), 3);
    EXPECT_FALSE(quarter(6));
    EXPECT_FALSE(quarter(3));
    EXPECT_TRUE(both(2, 4));
    EXPECT_FALSE(both(2, 3));
    EXPECT_FALSE(both(3, 2));
}

TEST(Result, MovesWhatCannotBeCopied) {
    Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
    const std::unique_ptr<int> taken = std::move(made).value();
    EXPECT_EQ(*taken, 7);
}

TEST(Result, HoldsAnErrorOfTheTypeOfItsValue) {
    const Result<int, int> good = 1;
    const Result<int, int> bad = Unexpected{1};
    EXPECT_TRUE(good.has_value());
    EXPECT_FALSE(bad.has_value());
}

TEST(ResultDeathTest, ReadingTheWrongSideAborts) {
    EXPECT_DEATH((void)half(3).value(), "holds an error");
    EXPECT_DEATH((void)half(4).error(), "holds a value");
}

}  // namespace
}  // namespace retrace
