// SPDX-License-Identifier: MIT
#include "market/price_curve.hpp"

#include <gtest/gtest.h>

namespace retrace::market {
namespace {

using ledger::U256;

TEST(PriceCurve, RisesLinearlyFromTheFirstPriceToTheLast) {
    EXPECT_EQ(price_on_curve(100, 200, 0, 4), 100);
    EXPECT_EQ(price_on_curve(100, 200, 1, 4), 125);
    EXPECT_EQ(price_on_curve(100, 200, 3, 4), 175);
    EXPECT_EQ(price_on_curve(100, 200, 4, 4), 200);
    EXPECT_EQ(price_on_curve(100, 200, 9, 4), 200) << "and no higher";
    EXPECT_EQ(price_on_curve(100, 101, 1, 3), 100) << "rounded down";
    EXPECT_EQ(price_on_curve(7, 7, 1, 2), 7);
    EXPECT_EQ(price_on_curve(7, 9, 0, 0), 9) << "without another step only the last price is left";
}

TEST(PriceCurve, NeverFallsAndNeverOverflows) {
    const U256 top = U256(UINT64_MAX) * U256(UINT64_MAX);
    U256 before;
    for (std::uint64_t step = 0; step <= 1'000; ++step) {
        const U256 now = price_on_curve(1, top, step, 1'000);
        EXPECT_GE(now, before);
        before = now;
    }
    EXPECT_EQ(before, top);
    EXPECT_EQ(price_on_curve(0, top, UINT64_MAX - 1, UINT64_MAX), top - U256(UINT64_MAX));
    EXPECT_DEATH(price_on_curve(2, 1, 0, 1), "a curve rises");
    EXPECT_DEATH(price_on_curve(1, U256::max(), 0, 1), "below 2");
}

}  // namespace
}  // namespace retrace::market
