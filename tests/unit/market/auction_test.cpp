// SPDX-License-Identifier: MIT
#include "market/auction.hpp"

#include <gtest/gtest.h>

#include <random>

#include "market/reputation.hpp"

namespace retrace::market {
namespace {

Address bidder(std::uint8_t n) {
    Address out;
    out.bytes[19] = n;
    return out;
}
Offer offer(std::uint8_t n, std::uint64_t price, std::uint64_t weight = Offer::kNeutralWeight) {
    return {bidder(n), price, 100, weight, 0, true};
}

TEST(Auction, TheLowestBidWinsAtTheSecondPrice) {
    const auto winners = clear_auction({offer(1, 50), offer(2, 30), offer(3, 40)}, 1, 100);
    ASSERT_EQ(winners.size(), 1u);
    EXPECT_EQ(winners[0].offer, 1u);
    EXPECT_EQ(winners[0].price, U256(40));
}

TEST(Auction, WithoutARivalTheCeilingIsPaid) {
    const auto winners = clear_auction({offer(1, 50)}, 1, 100);
    ASSERT_EQ(winners.size(), 1u);
    EXPECT_EQ(winners[0].price, U256(100));
}

TEST(Auction, TheCeilingCapsThePrice) {
    EXPECT_EQ(clear_auction({offer(1, 50, 5'000), offer(2, 90)}, 1, 100)[0].price, U256(100));
}

TEST(Auction, FewerBidsThanReplicasIsNoAuction) {
    EXPECT_TRUE(clear_auction({offer(1, 50)}, 2, 100).empty());
    EXPECT_TRUE(clear_auction({}, 1, 100).empty());
}

TEST(Auction, ReplicasAllGetTheBestLosersPrice) {
    const auto winners = clear_auction({offer(1, 10), offer(2, 20), offer(3, 30), offer(4, 40)}, 2, 100);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) EXPECT_EQ(winner.price, U256(30));
}

TEST(Auction, TiesGoToTheLowerAddress) { EXPECT_EQ(clear_auction({offer(9, 30), offer(2, 30)}, 1, 100)[0].offer, 1u); }

/// What the ceiling is for (decisions/006): both of them together are worth as much as the two that they displace.
TEST(Auction, UnlikeAccountsOfOneOwnerSetTheirPrice) {
    std::vector<Offer> offers{offer(1, 30), offer(2, 30), offer(3, 30), offer(4, 0), offer(5, 0)};
    for (std::size_t i = 0; i < 3; ++i) offers[i].capability = 100;
    for (std::size_t i = 3; i < 5; ++i) offers[i].capability = 400;
    const auto winners = clear_auction(offers, 2, 100);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) EXPECT_EQ(winner.price, U256(60));
    EXPECT_EQ(clear_auction(offers, 2, 50)[0].price, U256(50)) << "the ceiling";
    for (Offer& other : offers) other.capability = 100;
    EXPECT_EQ(clear_auction(offers, 2, 100)[0].price, U256(30)) << "of whoever is alike";
}

TEST(Auction, ABadNameIsDearer) {
    // 40 · 1.5 loses against 50, and the winner gets the price at which its own score equals the loser's.
    const auto winners = clear_auction({offer(1, 40, 15'000), offer(2, 50)}, 1, 100);
    EXPECT_EQ(winners[0].offer, 1u);
    EXPECT_EQ(winners[0].price, U256(60));
}

TEST(Auction, BiddingOnesCostIsTheBestStrategy) {
    // Whatever the others bid, no bid other than the true cost earns more.
    std::mt19937 random(11);
    for (int round = 0; round < 2'000; ++round) {
        std::vector<Offer> offers;
        const std::size_t rivals = 1 + random() % 5, replicas = 1 + random() % 2;
        for (std::size_t i = 0; i < rivals; ++i)
            offers.push_back(offer(static_cast<std::uint8_t>(2 + i), 1 + random() % 100, 9'000 + random() % 5'000));
        const std::uint64_t cost = 1 + random() % 100, weight = 9'000 + random() % 5'000;
        const auto profit = [&](std::uint64_t price) -> long long {
            auto all = offers;
            all.push_back(offer(1, price, weight));
            for (const Winner& winner : clear_auction(all, replicas, 100))
                if (winner.offer == rivals)
                    return static_cast<long long>(winner.price.low64()) - static_cast<long long>(cost);
            return 0;
        };
        const long long truth = profit(cost);
        EXPECT_GE(truth, 0) << "seed 11, round " << round;
        for (std::uint64_t lie = 1; lie <= 100; lie += 3)
            EXPECT_LE(profit(lie), truth) << "seed 11, round " << round << " cost " << cost << " lie " << lie;
    }
}

TEST(Auction, CommitmentsBindEveryField) {
    const Hash32 salt = to_hash32(Bytes(32, 1));
    const Hash32 base = bid_commitment(1, 2, 3, 4, salt, bidder(5));
    EXPECT_NE(base, bid_commitment(2, 2, 3, 4, salt, bidder(5)));
    EXPECT_NE(base, bid_commitment(1, 3, 3, 4, salt, bidder(5)));
    EXPECT_NE(base, bid_commitment(1, 2, 4, 4, salt, bidder(5)));
    EXPECT_NE(base, bid_commitment(1, 2, 3, 5, salt, bidder(5)));
    EXPECT_NE(base, bid_commitment(1, 2, 3, 4, Hash32{}, bidder(5)));
    EXPECT_NE(base, bid_commitment(1, 2, 3, 4, salt, bidder(6)));
}

TEST(Reputation, FaultsWeighAndGoodWorkNeverHidesThem) {
    EXPECT_EQ(reputation_weight({}), 10'000u);
    EXPECT_EQ(reputation_weight({.settled = 5}), 9'750u);
    EXPECT_EQ(reputation_weight({.settled = 1'000}), 9'000u);
    EXPECT_EQ(reputation_weight({.settled = 1'000, .faults = 1}), 12'500u);
    EXPECT_EQ(reputation_weight({.silences = 2}), 12'000u);
    EXPECT_EQ(reputation_weight({.faults = 4'000'000'000u}), 20'000u);
}

TEST(Reputation, SlowMachinesCountAsDearer) {
    EXPECT_EQ(bid_weight({}, 100, 100), 10'000u);
    EXPECT_EQ(bid_weight({}, 50, 100), 12'500u);
    EXPECT_EQ(bid_weight({}, 0, 100), 15'000u) << "not measured counts as the slowest";
    EXPECT_EQ(bid_weight({}, 0, 0), 10'000u) << "neutral while nobody is measured";
}

}  // namespace
}  // namespace retrace::market
