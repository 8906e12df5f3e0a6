// SPDX-License-Identifier: MIT
#include "market/auction.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <optional>
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
/// A bid of a newcomer whose machine has this measured speed, for score_bids.
RevealedBid revealed(std::size_t n, std::uint64_t price, std::uint64_t capability) {
    return {bidder(static_cast<std::uint8_t>(n)), price, 100, {}, capability};
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

/// 4.4.1: a speed of their own, and bids of zero, bring accounts of one owner no more than what the strangers ask, times what
/// the speed is worth by 4.3: machines at a quarter of the owner's speed weigh 13,750, and 30 · 1.375 is 41.25.
TEST(Auction, UnlikeAccountsOfOneOwnerArePaidWhatStrangersAsk) {
    for (std::size_t replicas = 2; replicas <= kReplicasMax; ++replicas) {
        std::vector<RevealedBid> bids;
        for (std::size_t i = 0; i < 6; ++i) bids.push_back(revealed(1 + i, 30, 100));
        for (std::size_t i = 0; i < replicas; ++i) bids.push_back(revealed(20 + i, 0, 400));
        const auto winners = clear_auction(score_bids(bids, {}), replicas, 1'000);
        ASSERT_EQ(winners.size(), replicas);
        for (const Winner& winner : winners) {
            EXPECT_GE(winner.offer, 6u);
            EXPECT_EQ(winner.price, U256(41))
                << replicas << " seats; by the sum of a set each would have " << 41 * replicas;
        }
        bids.back().price = 42;  // One of them may ask the price of all, as in any auction of one price, and loses.
        EXPECT_LT(clear_auction(score_bids(bids, {}), replicas, 1'000)[0].offer, 6u);
    }
}

/// 4.4.1: a set of unlike speeds counts twice its highest score, so strangers who are all unlike bound everybody's price. The
/// two cheapest of them weigh 10,000 and 13,000 (4.3), so that they count 2 · 30 · 13,000.
TEST(Auction, StrangersWithoutAnAlikeSetKeepAnOwnerFromTheCeiling) {
    std::vector<RevealedBid> strangers;
    for (const std::uint64_t speed : {1'000, 400, 150, 60})
        strangers.push_back(revealed(1 + strangers.size(), 30, speed));
    for (const Winner& winner : clear_auction(score_bids(strangers, {}), 2, 1'000))
        EXPECT_LT(winner.price, U256(50)) << "alone they compete at any speed";

    auto bids = strangers;
    for (const std::size_t n : {20, 21}) bids.push_back(revealed(n, 1'000, 0));
    const auto with_price = [&](std::uint64_t price) {  // Of two accounts that were never measured.
        for (std::size_t i = 4; i < 6; ++i) bids[i].price = price;
        return clear_auction(score_bids(bids, {}), 2, 1'000);
    };
    auto winners = with_price(1'000);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) EXPECT_LT(winner.offer, 4u) << "they ask more than twice what strangers do";
    winners = with_price(0);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) {
        EXPECT_GE(winner.offer, 4u);
        EXPECT_EQ(winner.price, U256(2 * 30 * 10'000 / 15'000)) << "by the cheapest stranger beside the other account";
    }

    bids = strangers;
    bids.push_back(revealed(20, 1'000, 990));
    winners = clear_auction(score_bids(bids, {}), 2, 1'000);
    ASSERT_EQ(winners.size(), 2u);
    for (const Winner& winner : winners) EXPECT_LT(winner.offer, 4u) << "nobody needs the stranger that it is alike to";
    bids.back().price = 0;
    winners = clear_auction(score_bids(bids, {}), 2, 1'000);
    ASSERT_EQ(winners.size(), 2u);
    EXPECT_EQ(winners[0].offer, 4u);
    EXPECT_EQ(winners[1].offer, 0u) << "the stranger that it is alike to";
    EXPECT_EQ(winners[0].price, U256(2 * 30 * 13'000 / 10'050)) << "a speed that lacks 1 % weighs 10,050";
    EXPECT_LE(winners[1].price, U256(2 * 30 * 13'000 / 10'000));
}

/// What the best set of these counts by 4.2, by trying all subsets; nullopt: there are too few.
std::optional<U256> least_count(const std::vector<Offer>& offers, std::size_t count) {
    std::optional<U256> best;
    for (std::size_t mask = 0; mask < std::size_t{1} << offers.size(); ++mask) {
        if (static_cast<std::size_t>(std::popcount(mask)) != count) continue;
        std::uint64_t slowest = ~std::uint64_t{0}, fastest = 0;
        U256 highest;
        for (std::size_t i = 0; i < offers.size(); ++i) {
            if ((mask >> i & 1) == 0) continue;
            slowest = std::min(slowest, offers[i].capability);
            fastest = std::max(fastest, offers[i].capability);
            highest = ledger::max(highest, offers[i].price * U256(offers[i].weight_bp));
        }
        if (!alike(slowest, fastest)) highest = highest * U256(2);
        if (!best || highest < *best) best = highest;
    }
    return best;
}

/// 4.4.1 for random markets, speeds, reputations and any bids of the owner, also those that lose and move weights only.
TEST(Auction, AnOwnerOfManySeatsIsPaidAtMostWhatTheBestStrangersAsk) {
    std::mt19937 random(31);
    constexpr std::uint64_t kSpeeds[] = {0, 100, 150, 220, 400, 900};
    std::size_t seats = 0;
    for (int round = 0; round < 3'000; ++round) {
        const std::size_t replicas = 1 + random() % kReplicasMax, strangers = replicas + random() % 5;
        std::vector<RevealedBid> bids;
        for (std::size_t i = 0; i < strangers + replicas + 1; ++i) {
            bids.push_back(revealed(1 + i, random() % 100, kSpeeds[random() % 6]));
            bids.back().reputation.settled = random() % 30;
            bids.back().reputation.silences = random() % 4 == 0 ? 1 + random() % 4 : 0;
        }
        const auto first = [&](const auto& all) {
            return std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(strangers));
        };
        const std::vector<Offer> offers = score_bids(bids, {});
        const auto most = least_count(first(offers), replicas);
        ASSERT_TRUE(most) << "there are at least as many strangers as seats";
        const U256 alone = least_count(score_bids(first(bids), {}), replicas).value();
        for (const Winner& winner : clear_auction(offers, replicas, 1'000)) {
            if (winner.offer < strangers) continue;
            ++seats;
            const U256 score = winner.price * U256(offers[winner.offer].weight_bp);
            EXPECT_LE(score, *most) << "seed 31, round " << round;
            EXPECT_LE(score * U256(2), alone * U256(3)) << "4.3 adds half; seed 31, round " << round;
        }
    }
    EXPECT_GT(seats, 500u);
}

/// With as many accounts as seats, all at a speed of their own: the truth, nothing for all, and one dear bid beside nothing.
TEST(Auction, AnOwnerOfAllSeatsGainsNothingOverTheTruth) {
    constexpr std::uint64_t kCost = 75;
    std::mt19937 random(7);
    for (int market = 0; market < 60; ++market)
        for (std::size_t replicas = 2; replicas <= kReplicasMax; ++replicas) {
            std::vector<RevealedBid> strangers;
            for (std::size_t i = 0; i < replicas + 3; ++i)
                strangers.push_back(revealed(1 + i, 50 + random() % 50, 100));
            const auto profit = [&](std::uint64_t first, std::uint64_t others) -> long long {
                auto all = strangers;
                for (std::size_t i = 0; i < replicas; ++i)
                    all.push_back(revealed(50 + i, i == 0 ? first : others, 3'000));
                long long out = 0;
                for (const Winner& winner : clear_auction(score_bids(all, {}), replicas, 1'000))
                    if (winner.offer >= strangers.size())
                        out += static_cast<long long>(winner.price.low64()) - static_cast<long long>(kCost);
                return out;
            };
            const long long truth = profit(kCost, kCost);
            EXPECT_GE(truth, 0);
            for (std::uint64_t first = 0; first <= 500; first += 20)
                EXPECT_LE(profit(first, 0), truth) << "seed 7, market " << market << ", " << replicas << " replicas";
        }
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
