// SPDX-License-Identifier: MIT
// The sale of a group's seats, and what a member earns. SPEC 11.
#include "market/groups.hpp"

#include <gtest/gtest.h>

#include "market/escrow.hpp"

namespace retrace::market {
namespace {

Offer seat_offer(std::uint8_t party, std::uint64_t price, std::uint64_t weight_bp = Offer::kNeutralWeight,
                 bool fit = true) {
    Offer out;
    out.bidder.bytes[0] = party;
    out.price = U256(price);
    out.weight_bp = weight_bp;
    out.fit = fit;
    return out;
}
const U256 kSeatCeiling(1000);
using SeatPlaces = std::vector<std::size_t>;

TEST(GroupSeats, TheFirstLoserSetsThePriceOfAllSeats) {
    const Seats seats = clear_seats({seat_offer(1, 300), seat_offer(2, 100), seat_offer(3, 400), seat_offer(4, 200)}, 2,
                                    2, kSeatCeiling);
    EXPECT_EQ(seats.offers, (SeatPlaces{1, 3}));
    EXPECT_EQ(seats.price, U256(300));
}

TEST(GroupSeats, WithoutALoserTheHighestWinningBidDoes) {
    const Seats seats = clear_seats({seat_offer(1, 300), seat_offer(2, 100)}, 4, 2, kSeatCeiling);
    EXPECT_EQ(seats.offers, (SeatPlaces{1, 0}));
    EXPECT_EQ(seats.price, U256(300));
}

TEST(GroupSeats, NobodyIsPaidLessThanItAsked) {
    // The winner's reputation makes its bid weigh less: its score is 270, that of the loser 280.
    const Seats seats = clear_seats({seat_offer(1, 300, 9'000), seat_offer(2, 280)}, 1, 1, kSeatCeiling);
    EXPECT_EQ(seats.offers, SeatPlaces{0});
    EXPECT_EQ(seats.price, U256(300));
}

TEST(GroupSeats, ThePriceIsAtMostTheCeiling) {
    const Seats seats = clear_seats({seat_offer(1, 900), seat_offer(2, 990, 15'000)}, 1, 1, kSeatCeiling);
    EXPECT_EQ(seats.price, kSeatCeiling);
}

TEST(GroupSeats, TiesGoToTheLowerAddress) {
    EXPECT_EQ(clear_seats({seat_offer(9, 100), seat_offer(3, 100)}, 1, 1, kSeatCeiling).offers, SeatPlaces{1});
}

TEST(GroupSeats, BidsThatAreSetAsideDoNotCount) {
    EXPECT_TRUE(
        clear_seats({seat_offer(1, 100), seat_offer(2, 100, 10'000, false)}, 2, 2, kSeatCeiling).offers.empty());
    EXPECT_EQ(clear_seats({seat_offer(1, 300), seat_offer(2, 100, 10'000, false)}, 1, 1, kSeatCeiling).offers,
              SeatPlaces{0});
    EXPECT_TRUE(clear_seats({}, 2, 0, kSeatCeiling).offers.empty());
}

TEST(GroupSeats, ABidderCannotGainByAskingForMoreOrLessThanItsCost) {
    const std::uint64_t cost = 250;
    const std::vector<Offer> others = {seat_offer(2, 100), seat_offer(3, 200), seat_offer(4, 300), seat_offer(5, 400)};
    const auto gain = [&](std::uint64_t price) -> std::int64_t {
        std::vector<Offer> offers = others;
        offers.push_back(seat_offer(1, price));
        const Seats seats = clear_seats(offers, 3, 1, kSeatCeiling);
        const bool wins = std::find(seats.offers.begin(), seats.offers.end(), offers.size() - 1) != seats.offers.end();
        return wins ? static_cast<std::int64_t>(seats.price.low64()) - static_cast<std::int64_t>(cost) : 0;
    };
    for (std::uint64_t price = 1; price < 1000; ++price) EXPECT_LE(gain(price), gain(cost)) << price;
}

TEST(GroupPay, FollowsTheStepsAndRoundsDown) {
    EXPECT_EQ(segment_pay(U256(100), 10, 10), U256(100));
    EXPECT_EQ(segment_pay(U256(100), 1, 3), U256(33));
    EXPECT_EQ(segment_pay(U256(100), 0, 3), U256());
    TaskSpec spec;
    spec.price_ceiling = U256(1'000) * kMilli;
    spec.auditors = 3;
    EXPECT_EQ(join_fee(Params{}, spec, 1), audit_fee(Params{}, spec) * U256(6));
    EXPECT_EQ(join_fee(Params{}, spec, 0), U256()) << "the escrow has the audits of all seats";
}

TEST(GroupPay, ARoundIsOnAverageWhatItsRegionsMakeOfIt) {
    EXPECT_EQ(merge_pay(U256(101)), U256(50));
    TaskSpec spec;
    spec.replicas = 64;
    GroupSpec terms;
    EXPECT_EQ(mean_round(spec, nullptr), (MeanRound{1, 1, 1, 1}));
    EXPECT_EQ(mean_round(spec, &terms), (MeanRound{1, 1, 1, 1}));
    terms.regions = 8;
    // In two rounds 64 train for a price, and 16 merge for half of one.
    EXPECT_EQ(mean_round(spec, &terms), (MeanRound{72, 80, 64, 128}));
}

TEST(GroupCommitments, DependOnAllTheyName) {
    const Hash32 salt = shared_digest({});
    const Bytes bits{5};
    const Hash32 one = holding_commitment(1, 2, 3, salt, bits);
    EXPECT_NE(one, holding_commitment(2, 2, 3, salt, bits));
    EXPECT_NE(one, holding_commitment(1, 3, 3, salt, bits));
    EXPECT_NE(one, holding_commitment(1, 2, 4, salt, bits));
    EXPECT_NE(one, holding_commitment(1, 2, 3, one, bits));
    EXPECT_NE(one, holding_commitment(1, 2, 3, salt, Bytes{5, 0}));
    EXPECT_NE(shared_digest({one}), shared_digest({one, one}));
}

}  // namespace
}  // namespace retrace::market
