// SPDX-License-Identifier: MIT
// The price of a place by what is taken, and what holding places costs at least. SPEC 12.
#include "market/places.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>

#include "market/escrow.hpp"
#include "market/odds.hpp"

namespace retrace::market {
namespace {

const U256 kCoin = 1'000 * kMilli;

U256 rent_of_all(const Params& params, std::uint64_t places) {
    U256 sum;
    for (std::uint64_t i = 0; i < places; ++i) sum += task_rent(params, i);
    return sum;
}

TEST(Places, TheMultiplierTakesSixteenValuesInTheSecondHalf) {
    for (const std::uint64_t capacity : {64u, 512u, 16'384u}) {
        const std::uint64_t step = capacity / 32;
        EXPECT_EQ(place_multiplier(0, capacity), 0u);
        EXPECT_EQ(place_multiplier(capacity / 2 - 1, capacity), 0u);
        for (std::uint64_t i = 0; i < 16; ++i) {
            EXPECT_EQ(place_multiplier(capacity / 2 + i * step, capacity), std::uint64_t{1} << i);
            EXPECT_EQ(place_multiplier(capacity / 2 + (i + 1) * step - 1, capacity), std::uint64_t{1} << i);
        }
    }
    EXPECT_DEATH(place_multiplier(64, 64), "a place is free");
}

TEST(Places, AFullListBurnsAboutWhatFullBlocksBurn) {
    const Params params;
    const U256 a_block = rent_of_all(params, kOpenTasksMax);
    EXPECT_EQ(a_block, U256(512) * U256(65'535) * (params.bid_deposit / U256(1'000'000)));
    EXPECT_EQ(a_block * U256(86'400) / kCoin, 28'990) << "coins a day";
    EXPECT_GT(a_block, U256(3) * kCoin / U256(10)) << "a full block burns 0.4 coin";
}

/// SPEC 12.7.7: what once held the whole list for years.
TEST(Places, FourHundredAndThirtyCoinsHoldAFullListForTwentyMinutes) {
    const Params params;
    const U256 a_block = rent_of_all(params, kOpenTasksMax), coins = U256(430) * kCoin;
    EXPECT_EQ(coins / a_block, 1'281) << "blocks";
    TaskSpec shortest;
    shortest.finish_blocks = 1;
    EXPECT_EQ(a_block * U256(rented_blocks(params, shortest, nullptr)) / kCoin, 3'986) << "coins of deposits";
}

TEST(Places, AFullAuctionBurnsMoreThanATaskPays) {
    const Params params;
    U256 sum;
    for (std::uint64_t i = 0; i < kBiddersMax; ++i) sum += bid_place_fee(params, i, kBiddersMax);
    EXPECT_EQ(sum / kCoin, 1'310);
    EXPECT_EQ(bid_place_fee(params, 31, kBiddersMax), 0);
    EXPECT_EQ(bid_place_fee(params, 32, kBiddersMax), params.bid_deposit);
    EXPECT_EQ(bid_place_fee(params, 255, kGroupBiddersMax), 0) << "all seats of a group are free of charge";
}

TEST(Places, WhoeverKeepsABidderOutBurnsTwiceWhatThePlaceIsWorthToIt) {
    const Params params;
    U256 burned;
    for (std::uint64_t taken = 0; taken < kBiddersMax; ++taken) {
        const U256 price = bid_place_fee(params, taken, kBiddersMax);
        EXPECT_GE(burned + U256(2) * params.bid_deposit, U256(2) * price) << taken;
        burned += price;
    }
}

/// SPEC 12.7.1. Whatever others do, and whenever it posts and ends its tasks, an owner pays at least the sum of the prices
/// from an empty list on for those that it holds.
TEST(Places, NoOrderOfPostingsHoldsPlacesForLess) {
    const Params params;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        std::multiset<U256> mine;  // rents of the places that the attacker holds
        std::uint64_t others = 0, most = 0;
        for (int i = 0; i < 40'000; ++i) {
            const std::uint64_t taken = mine.size() + others;
            const std::uint64_t what = random() % 8;
            if (what < 5 && taken < kOpenTasksMax)
                mine.insert(task_rent(params, taken));
            else if (what == 5 && taken < kOpenTasksMax)
                ++others;
            else if (what == 6 && others > 0)
                --others;
            else if (what == 7 && !mine.empty())  // It gives up the dearest place that it has.
                mine.erase(std::prev(mine.end()));
            most = std::max(most, taken);
        }
        U256 paid;
        for (const U256& rent : mine) paid += rent;
        EXPECT_GE(paid, rent_of_all(params, mine.size())) << "seed " << seed;
        EXPECT_GT(most, kOpenTasksMax * 3 / 4) << "the list became dear, seed " << seed;
    }
}

TEST(Places, RentIsForTheTimeAndAtMostTheDeposit) {
    const Place place{U256(7), U256(100)};
    EXPECT_EQ(rent_due(place, 0), 0);
    EXPECT_EQ(rent_due(place, 10), 70);
    EXPECT_EQ(rent_due(place, 1'000'000'000), 100);
    EXPECT_EQ(paid_blocks(place), 14);
}

TEST(Places, ATaskBringsRentForTheTimesOfItsTerms) {
    const Params p;
    TaskSpec spec;
    spec.finish_blocks = 1'000;
    const std::uint64_t rest =
        p.rounds * (p.bid_blocks + p.reveal_blocks + p.accept_blocks) + p.deliver_blocks + p.unbond_blocks;
    EXPECT_EQ(rented_blocks(p, spec, nullptr), rest + 1'000);
    spec.auctions = 4;
    spec.pause_blocks = 50;
    EXPECT_EQ(rented_blocks(p, spec, nullptr), rest + 1'000 + 3 * 50) << "the pauses between its auctions";
    spec.auctions = 1;
    GroupSpec group;
    group.round_blocks = 50;
    group.fetch_blocks = 5;
    group.reveal_blocks = 3;
    spec.steps = 11;
    EXPECT_EQ(rented_blocks(p, spec, &group), rest + p.checkpoint_blocks + 11 * (50 + 16 + 5));
    spec.checkpoint_blocks = 5'000;
    EXPECT_EQ(rented_blocks(p, spec, &group), rest + 5'000 + 11 * (50 + 16 + 5)) << "with the time for first states";
    spec.checkpoint_blocks = 0;
    group.mask_bits = 10;
    group.mask_blocks = 7;
    EXPECT_EQ(rented_blocks(p, spec, &group), rest + p.checkpoint_blocks + 11 * (50 + 16 + 5 + 8 + 8))
        << "with the phase of the masks, and eight blocks in which its secrets are put together";
    group.round_blocks = group.fetch_blocks = group.reveal_blocks = 1'000'000'000;
    spec.steps = std::uint64_t{1} << 20;
    EXPECT_GT(rented_blocks(p, spec, &group), std::uint64_t{1} << 52) << "the longest terms do not overflow";
}

/// SPEC 12.7.8: what it costs to lock the stake of others by tasks that are taken back.
TEST(Places, WhoeverLocksTheStakeOfOthersByCancelledTasksPaysForIt) {
    const Params params;
    const U256 coin(1'000 * kMilli);
    TaskSpec bait;
    bait.steps = bait.interval = 1;
    bait.price_ceiling = U256(20) * coin;
    const U256 lock = stake_floor(params, bait).value(), cycles(86'400 / (params.bid_blocks + params.reveal_blocks));
    EXPECT_EQ(lock / coin, 950);
    EXPECT_EQ(escrow_of(bait, params)->total() / coin, 60) << "is all that its requester brings";
    EXPECT_EQ(cancel_fee(lock) * U256(100) / coin, 95);
    EXPECT_EQ(cancel_fee(lock) * cycles / coin, 4'104) << "a day, for each solver whose stake is kept";
    EXPECT_EQ(cancel_fee(U256(1)), 1) << "rounded up";
    EXPECT_EQ(cancel_fee(U256()), 0);
}

TEST(Places, AChainWithoutADepositStillHasARent) {
    Params free;
    free.bid_deposit = 0;
    EXPECT_EQ(task_rent(free, kOpenTasksMax - 1), std::uint64_t{1} << 15);
}

}  // namespace
}  // namespace retrace::market
