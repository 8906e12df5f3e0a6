// SPDX-License-Identifier: MIT
#include "node/cmd/auction_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

using ::testing::HasSubstr;

TEST(AuctionFlags, ADeadlineIsABlockOrATimeFromNowOn) {
    EXPECT_EQ(deadline_of("5000", 100, 2), 5000u);
    EXPECT_EQ(deadline_of("90s", 100, 2), 145u);
    EXPECT_EQ(deadline_of("90m", 100, 2), 2'800u);
    EXPECT_EQ(deadline_of("6h", 100, 1), 21'700u);
    EXPECT_EQ(deadline_of("2d", 0, 0.5), 345'600u);
    EXPECT_EQ(deadline_of("1s", 7, 3), 7u) << "less than a block";
    for (const char* wrong :
         {"", "s", "-5", "5 m", "5x", "5mm", "1.5h", "18446744073709551616", "18446744073709551615d"})
        EXPECT_FALSE(deadline_of(wrong, 0, 1)) << wrong;
    EXPECT_FALSE(deadline_of("1s", 0, 0)) << "blocks of no time";
}

TEST(AuctionFlags, AsManyAuctionsAreHeldAsAreOverInTime) {
    market::Params params;
    params.bid_blocks = 20;
    params.reveal_blocks = 10;
    params.rounds = 5;
    EXPECT_EQ(auctions_by(params, 100, 131), (AuctionTimes{0, 0})) << "the posting takes two blocks";
    EXPECT_EQ(auctions_by(params, 100, 132), (AuctionTimes{1, 0}));
    EXPECT_EQ(auctions_by(params, 100, 191), (AuctionTimes{2, 29}));
    EXPECT_EQ(auctions_by(params, 100, 192), (AuctionTimes{3, 0}));
    EXPECT_EQ(auctions_by(params, 100, 50), (AuctionTimes{0, 0}));
    EXPECT_EQ(auctions_by(params, 100, 21'702), (AuctionTimes{5, 5'362}))
        << "six hours are filled, 102 + 5 * 30 + 4 * 5362 = 21700";
    EXPECT_EQ(auctions_by(params, 0, UINT64_MAX), (AuctionTimes{5, 1'000'000'000}));
}

TEST(AuctionFlags, SetTheTermsOrSayWhatIsWrong) {
    TaskFile task;
    task.price_ceiling = parse_coins("1").value();
    AuctionFlags flags;
    ASSERT_TRUE(flags.apply(task, nullptr));
    EXPECT_EQ(task.auctions, 3);
    EXPECT_TRUE(task.last_ceiling.is_zero());
    flags.raise_to = "1.5";
    ASSERT_TRUE(flags.apply(task, nullptr));
    EXPECT_EQ(task.last_ceiling, parse_coins("1.5"));
    const auto why = [&] {
        const auto done = flags.apply(task, nullptr);
        return done ? std::string() : done.error().message;
    };
    flags.raise_to = "0.5";
    EXPECT_THAT(why(), HasSubstr("below the task's price_ceiling of 1 coin"));
    flags.raise_to = "much";
    EXPECT_THAT(why(), HasSubstr("--raise-to must be coins"));
    flags.raise_to = "2";
    flags.auctions = 1;
    EXPECT_THAT(why(), HasSubstr("a ceiling rises from one auction to the next"));
    flags.by = "6h";
    EXPECT_THAT(why(), HasSubstr("--by needs a chain"));
    flags = {};
    flags.auctions = 64;
    ASSERT_TRUE(flags.apply(task, nullptr));
    EXPECT_EQ(task.auctions, market::Params{}.rounds) << "no more than the chain allows";
}

}  // namespace
}  // namespace retrace::node::cli
