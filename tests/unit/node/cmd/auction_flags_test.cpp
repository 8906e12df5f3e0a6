// SPDX-License-Identifier: MIT
#include "node/cmd/auction_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

/// Known answers, which the console's tests compare too.
json::value deadline_vectors() {
    std::ifstream file(std::filesystem::path(RETRACE_VECTORS) / "auctions/deadlines.json");
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}
std::uint64_t decimal(const json::value& digits) { return std::stoull(std::string(digits.as_string())); }

TEST(AuctionFlags, ADeadlineIsABlockOrATimeFromNowOn) {
    const json::value all = deadline_vectors();
    EXPECT_GT(all.at("deadlines").as_array().size(), 20u);
    for (const json::value& one : all.at("deadlines").as_array()) {
        const std::string by(one.at("by").as_string());
        const auto found = deadline_of(by, decimal(one.at("height")), one.at("block_s").to_number<double>());
        ASSERT_EQ(found.has_value(), one.at("deadline").is_string()) << by;
        if (!found) continue;
        EXPECT_EQ(*found, decimal(one.at("deadline"))) << by;
    }
}

TEST(AuctionFlags, AsManyAuctionsAreHeldAsAreOverInTime) {
    const json::value all = deadline_vectors();
    EXPECT_GT(all.at("auctions").as_array().size(), 5u);
    for (const json::value& one : all.at("auctions").as_array()) {
        market::Params params;
        params.bid_blocks = decimal(one.at("bid_blocks"));
        params.reveal_blocks = decimal(one.at("reveal_blocks"));
        params.rounds = decimal(one.at("rounds"));
        EXPECT_EQ(auctions_by(params, decimal(one.at("height")), decimal(one.at("deadline"))),
                  (AuctionTimes{decimal(one.at("auctions")), decimal(one.at("pause"))}))
            << one.at("deadline");
    }
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
