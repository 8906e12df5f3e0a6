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

/// From the first ceiling to the last in as many steps as there are auctions after the first.
TEST(PriceCurve, ACeilingRisesWithEachAuctionThatHadNoWinners) {
    TaskSpec spec;
    spec.price_ceiling = 100;
    spec.last_ceiling = 201;
    spec.auctions = 4;
    const Auctions posted{100, {}, 0, 3};
    EXPECT_EQ(ceiling_after(spec, posted, 0), 100);
    EXPECT_EQ(ceiling_after(spec, posted, 1), 133) << "rounded down";
    EXPECT_EQ(ceiling_after(spec, posted, 2), 167);
    EXPECT_EQ(ceiling_after(spec, posted, 3), 201);
    EXPECT_EQ(ceiling_after(spec, posted, 9), 201) << "auctions that were added have the last one";
    spec.price_ceiling = 167;
    EXPECT_EQ(ceiling_after(spec, posted, 3), 201) << "whatever the ceiling is now";
    EXPECT_EQ(covered_ceiling(spec, posted), 201);
}

TEST(PriceCurve, WhatWasAddedIsTheLeastCeilingOfTheNextAuctions) {
    TaskSpec spec;
    spec.price_ceiling = 100;
    spec.last_ceiling = 200;
    spec.auctions = 3;
    Auctions added{100, 120, 0, 2};
    EXPECT_EQ(ceiling_after(spec, added, 0), 120);
    EXPECT_EQ(ceiling_after(spec, added, 1), 150) << "the curve is above it";
    EXPECT_EQ(covered_ceiling(spec, added), 200);
    added.least = 300;
    EXPECT_EQ(ceiling_after(spec, added, 2), 300);
    EXPECT_EQ(covered_ceiling(spec, added), 300);
}

TEST(PriceCurve, ATaskWithoutACurveHasOneCeiling) {
    TaskSpec spec;
    spec.price_ceiling = 7;
    for (const std::uint8_t auctions : {1, 2, 64}) {
        spec.auctions = auctions;
        for (const std::uint32_t failed : {0u, 1u, 63u}) EXPECT_EQ(ceiling_after(spec, {7, {}, 0, 0}, failed), 7);
    }
    EXPECT_EQ(covered_ceiling(spec, {7, {}, 0, 0}), 7);
}

/// What a node claims is read before anything of it is checked.
TEST(PriceCurve, AmountsThatNoChainHasEndNothing) {
    TaskSpec spec;
    spec.auctions = 0;
    spec.last_ceiling = U256::max();
    EXPECT_EQ(ceiling_after(spec, {U256::max(), U256::max(), UINT32_MAX, UINT32_MAX}, UINT32_MAX), U256::max());
    EXPECT_EQ(ceiling_after(spec, {U256(1), {}, 0, 0}, 1), U256::max());
    spec.last_ceiling = {};
    EXPECT_EQ(ceiling_after(spec, {U256(5), {}, 0, 0}, UINT32_MAX), 5);
}

}  // namespace
}  // namespace retrace::market
