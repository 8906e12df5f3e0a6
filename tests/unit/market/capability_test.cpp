// SPDX-License-Identifier: MIT
// The value of a measured speed in an auction, and how a measurement becomes a speed.
#include "market/capability.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>
#include <optional>
#include <random>

#include "market/auction.hpp"

namespace retrace::market {
namespace {

Address measured_bidder(std::uint8_t n) {
    Address out;
    out.bytes[19] = n;
    return out;
}
Offer measured_offer(std::uint8_t n, std::uint64_t price, std::uint64_t capability) {
    return {measured_bidder(n), price, 100, Offer::kNeutralWeight, capability, true};
}
std::vector<std::size_t> winners_of(const std::vector<Offer>& offers, std::size_t count) {
    std::vector<std::size_t> out;
    for (const Winner& winner : clear_auction(offers, count, 1'000)) out.push_back(winner.offer);
    return out;
}

TEST(CapabilityScore, IsWorkForEachBlockFromTheSeedToTheAnswer) {
    EXPECT_EQ(capability_score(1'000, 100, 120, 20), 50u);
    EXPECT_EQ(capability_score(1'000, 100, 110, 20), 100u);
    EXPECT_EQ(capability_score(1'000, 100, 101, 20), 100u) << "at least half the window counts";
    EXPECT_EQ(capability_score(999, 100, 101, 1), 999u);
    EXPECT_EQ(capability_score(1'000, 100, 90, 20), 100u);
}

TEST(CapabilityScore, EachBeaconChallengesTheShareThatGenesisNames) {
    std::size_t drawn = 0;
    for (std::uint8_t n = 0; n < 250; ++n) {
        for (std::uint8_t b = 0; b < 20; ++b) {
            Hash32 beacon;
            beacon.bytes[0] = b;
            drawn += is_challenged(beacon, measured_bidder(n), 1'000) ? 1 : 0;
            EXPECT_FALSE(is_challenged(beacon, measured_bidder(n), 0));
        }
    }
    EXPECT_NEAR(static_cast<double>(drawn), 500.0, 70.0);
}

TEST(Fitness, WeighsWhatTheMachineLacksAndSetsAsideWhatCannotBe) {
    const Demand demand{U256(1'000'000), 100, 40'000};
    EXPECT_EQ(fitness_bp(demand, 10'000, 200), 10'000u) << "just able";
    EXPECT_EQ(fitness_bp(demand, 5'000, 200), 20'000u) << "half as fast as promised";
    EXPECT_EQ(fitness_bp(demand, 2'500, 200), 40'000u) << "the last that counts";
    EXPECT_FALSE(fitness_bp(demand, 2'499, 200).has_value());
    EXPECT_FALSE(fitness_bp(demand, 10'000, 100).has_value()) << "no time at all";
    EXPECT_EQ(fitness_bp(demand, 0, 200), 10'000u) << "not measured: judged by its rivals alone";
    EXPECT_EQ(fitness_bp({U256(), 100, 40'000}, 1, 101), 10'000u) << "the task does not say what it costs";
}

TEST(Fitness, TheLargestNumbersDoNotOverflow) {
    TaskSpec spec;
    spec.steps = kStepsMax;
    spec.interval = 1;
    spec.step_cost = ~std::uint64_t{0};
    const Demand demand = demand_of({}, spec, 0, 1);
    EXPECT_FALSE(fitness_bp(demand, 1, 2).has_value());
    EXPECT_TRUE(fitness_bp(demand, ~std::uint64_t{0}, kStepsMax + 1).has_value());
    EXPECT_TRUE(demand_of({}, spec, kStepsMax, 1).work.is_zero()) << "everything is there already";
}

TEST(Fitness, IsPartOfAnOffersWeight) {
    const std::vector<RevealedBid> bids = {{measured_bidder(1), 50, 200, {}, 10'000},
                                           {measured_bidder(2), 10, 200, {}, 5'000},
                                           {measured_bidder(3), 1, 200, {}, 100}};
    const auto offers = score_bids(bids, {U256(1'000'000), 100, 40'000});
    EXPECT_EQ(offers[0].weight_bp, 10'000u);
    EXPECT_EQ(offers[1].weight_bp, 25'000u) << "half as fast as the best, and as it promises";
    EXPECT_TRUE(offers[1].fit);
    EXPECT_FALSE(offers[2].fit);
    const auto winners = clear_auction(offers, 1, 100);
    ASSERT_EQ(winners.size(), 1u);
    EXPECT_EQ(winners[0].offer, 1u) << "the cheapest of all is set aside";
    EXPECT_EQ(winners[0].price, U256(20)) << "50 / 2.5";
    EXPECT_TRUE(clear_auction(offers, 3, 100).empty()) << "who is set aside does not count as a bid";
}

/// 4.3, 4.5: an account with a fast machine could else make slower machines dearer by a promise that it cannot keep.
TEST(Fitness, WhoIsSetAsideMovesNoWeights) {
    const std::vector<RevealedBid> bids = {{measured_bidder(1), 50, 1'000'100, {}, 1'000},
                                           {measured_bidder(2), 40, 1'000'100, {}, 500}};
    const Demand demand{U256(5'000'000), 100, 40'000};
    const auto alone = score_bids(bids, demand);
    EXPECT_EQ(alone[1].weight_bp, 12'500u);
    auto with = bids;
    with.push_back({measured_bidder(3), 1, 101, {}, 1'000'000});
    auto offers = score_bids(with, demand);
    EXPECT_FALSE(offers[2].fit) << "one block is less than a quarter of what it needs";
    for (std::size_t i = 0; i < bids.size(); ++i) EXPECT_EQ(offers[i].weight_bp, alone[i].weight_bp);
    const auto winners = clear_auction(offers, 1, 1'000), before = clear_auction(alone, 1, 1'000);
    ASSERT_EQ(winners.size(), 1u);
    EXPECT_EQ(winners[0].offer, before[0].offer);
    EXPECT_EQ(winners[0].price, before[0].price);
    with.back().finish_height = 105;
    with.back().price = 1'000;
    offers = score_bids(with, demand);
    EXPECT_TRUE(offers[2].fit);
    EXPECT_EQ(offers[0].weight_bp, 14'995u) << "a fit bid moves them, also where it loses";
}

TEST(Grouping, SpeedsWithinAFactorOfTwoAreAlike) {
    EXPECT_TRUE(alike(100, 100));
    EXPECT_TRUE(alike(100, 200));
    EXPECT_FALSE(alike(100, 201));
    EXPECT_TRUE(alike(0, 0));
    EXPECT_FALSE(alike(0, 1)) << "who was not measured is alike to nobody who was";
    EXPECT_FALSE(alike(1, ~std::uint64_t{0}));
}

TEST(Grouping, ReplicasRunAtOnePace) {
    // The two cheapest have different speeds; the fast pair asks at most 30, the slow one 35.
    const std::vector<Offer> offers = {measured_offer(1, 10, 1'000), measured_offer(2, 20, 100),
                                       measured_offer(3, 30, 900), measured_offer(4, 35, 120)};
    EXPECT_EQ(winners_of(offers, 2), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(winners_of(offers, 1), (std::vector<std::size_t>{0}));
}

TEST(Grouping, WithoutAnAlikeGroupTheBestBidsWin) {
    const std::vector<Offer> offers = {measured_offer(1, 30, 1'000), measured_offer(2, 20, 100),
                                       measured_offer(3, 10, 0)};
    EXPECT_EQ(winners_of(offers, 2), (std::vector<std::size_t>{2, 1}));
}

TEST(Grouping, AWinnerIsPaidWhatItCouldHaveAskedAndStillWon) {
    const std::vector<Offer> offers = {measured_offer(1, 10, 1'000), measured_offer(2, 20, 100),
                                       measured_offer(3, 30, 900), measured_offer(4, 35, 120)};
    const auto winners = clear_auction(offers, 2, 1'000);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) EXPECT_EQ(winner.price, U256(35)) << "the slow pair asks at most 35";
}

/// Ties of sets go by speed, which no bid changes: by the sums of their scores a winner would gain by asking less.
TEST(Grouping, TiesGoToTheFasterSet) {
    const std::vector<Offer> offers = {measured_offer(1, 30, 100), measured_offer(2, 1, 100),
                                       measured_offer(3, 30, 900), measured_offer(4, 29, 900)};
    EXPECT_EQ(winners_of(offers, 2), (std::vector<std::size_t>{3, 2}));
}

/// What the rule costs: machines of a set with one dear member may be passed over. Costs are those of the winners, of the
/// cheapest set that is allowed.
TEST(Grouping, CostsLittleMoreThanTheCheapestSet) {
    std::mt19937 random(29);
    constexpr std::uint64_t kSpeeds[] = {100, 150, 220, 400, 900};
    double chosen = 0, least = 0, paid = 0;
    for (int round = 0; round < 2'000; ++round) {
        std::vector<Offer> offers;
        const std::size_t replicas = 2 + random() % 4, bids = replicas + 2 + random() % 8;
        for (std::size_t i = 0; i < bids; ++i)
            offers.push_back(
                measured_offer(static_cast<std::uint8_t>(1 + i), 50 + random() % 50, kSpeeds[random() % 5]));
        std::optional<std::uint64_t> cheapest;
        for (const Offer& slowest : offers) {
            std::vector<std::uint64_t> costs;
            for (const Offer& one : offers)
                if (one.capability >= slowest.capability && alike(slowest.capability, one.capability))
                    costs.push_back(one.price.low64());
            if (costs.size() < replicas) continue;
            std::ranges::sort(costs);
            const std::uint64_t sum =
                std::accumulate(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(replicas), std::uint64_t{0});
            cheapest = std::min(cheapest.value_or(sum), sum);
        }
        if (!cheapest) continue;
        least += static_cast<double>(*cheapest);
        for (const Winner& winner : clear_auction(offers, replicas, 100)) {
            chosen += static_cast<double>(offers[winner.offer].price.low64());
            paid += static_cast<double>(winner.price.low64());
        }
    }
    RecordProperty("cost_of_cheapest", std::to_string(chosen / least));
    RecordProperty("paid_of_cheapest", std::to_string(paid / least));
    std::cout << "cost " << chosen / least << ", paid " << paid / least << " of the cheapest sets\n";
    EXPECT_LT(chosen / least, 1.05);
}

TEST(Grouping, BiddingOnesCostIsStillTheBestStrategy) {
    std::mt19937 random(23);
    constexpr std::uint64_t kSpeeds[] = {0, 100, 150, 220, 400, 900};
    for (int round = 0; round < 600; ++round) {
        std::vector<Offer> offers;
        const std::size_t rivals = 1 + random() % 6, replicas = 1 + random() % 3;
        for (std::size_t i = 0; i < rivals; ++i)
            offers.push_back(
                measured_offer(static_cast<std::uint8_t>(2 + i), 1 + random() % 100, kSpeeds[random() % 6]));
        const std::uint64_t cost = 1 + random() % 100, speed = kSpeeds[random() % 6];
        const auto profit = [&](std::uint64_t price) -> long long {
            auto all = offers;
            all.push_back(measured_offer(1, price, speed));
            for (const Winner& winner : clear_auction(all, replicas, 100))
                if (winner.offer == rivals)
                    return static_cast<long long>(winner.price.low64()) - static_cast<long long>(cost);
            return 0;
        };
        const long long truth = profit(cost);
        EXPECT_GE(truth, 0) << "seed 23, round " << round;
        for (std::uint64_t lie = 1; lie <= 100; lie += 3)
            EXPECT_LE(profit(lie), truth) << "seed 23, round " << round << " cost " << cost << " lie " << lie;
    }
}

}  // namespace
}  // namespace retrace::market
