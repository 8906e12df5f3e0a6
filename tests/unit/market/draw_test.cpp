// SPDX-License-Identifier: MIT
#include "market/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

Hash32 word(std::uint64_t n) { return merkle::Sha256().update_u64(n).finish(); }
Address party(std::uint8_t n) {
    Address out;
    out.bytes[0] = n;
    return out;
}

TEST(Draw, SegmentsAreDrawnAtTheirRate) {
    int drawn = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) drawn += is_drawn(word(i), 1, 0, i, 500);
    EXPECT_NEAR(drawn, 1'000, 125) << "four standard deviations";
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(is_drawn(word(i), 1, 0, i, 10'000));
}

TEST(Draw, StakeDecidesHowOften) {
    const std::vector<Candidate> all{{party(1), 100}, {party(2), 300}, {party(3), 600}};
    std::map<Address, int> counts;
    for (std::uint64_t i = 0; i < 10'000; ++i) ++counts[draw_auditors(word(i), 1, 0, all, 1).at(0)];
    EXPECT_NEAR(counts[party(1)], 1'000, 130);
    EXPECT_NEAR(counts[party(2)], 3'000, 200);
    EXPECT_NEAR(counts[party(3)], 6'000, 200);
}

TEST(Draw, NobodyIsDrawnTwiceAndOrderOfCandidatesDoesNotMatter) {
    std::vector<Candidate> all{{party(1), 5}, {party(2), 50}, {party(3), 500}, {party(4), 0}};
    for (std::uint64_t i = 0; i < 200; ++i) {
        auto one = draw_auditors(word(i), i, 0, all, 5);
        std::reverse(all.begin(), all.end());
        EXPECT_EQ(one, draw_auditors(word(i), i, 0, all, 5));
        std::sort(one.begin(), one.end());
        EXPECT_EQ(one, (std::vector{party(1), party(2), party(3)})) << "weight zero is never drawn";
    }
}

TEST(Draw, BeaconAuditAndAttemptAllMatter) {
    std::vector<Candidate> all;
    for (std::uint8_t i = 1; i <= 100; ++i) all.push_back({party(i), 1});
    const auto base = draw_auditors(word(1), 1, 0, all, 5);
    EXPECT_NE(base, draw_auditors(word(2), 1, 0, all, 5));
    EXPECT_NE(base, draw_auditors(word(1), 2, 0, all, 5));
    EXPECT_NE(base, draw_auditors(word(1), 1, 1, all, 5));
    EXPECT_TRUE(draw_auditors(word(1), 1, 0, {}, 2).empty());
}

TEST(Beacon, EveryRevealChangesIt) {
    const std::vector<Reveal> reveals{{party(1), word(1)}, {party(2), word(2)}};
    const Hash32 base = mix_beacon(word(0), 7, reveals);
    EXPECT_NE(base, mix_beacon(word(9), 7, reveals));
    EXPECT_NE(base, mix_beacon(word(0), 8, reveals));
    EXPECT_NE(base, mix_beacon(word(0), 7, {reveals[0]}));
    EXPECT_NE(base, mix_beacon(word(0), 7, {reveals[1], reveals[0]}));
}

}  // namespace
}  // namespace retrace::market
