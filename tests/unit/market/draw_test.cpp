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

/// Reveals of one epoch by members with these stakes.
std::vector<Reveal> epoch(std::uint64_t number, const std::vector<std::uint64_t>& stakes) {
    std::vector<Reveal> out;
    for (std::size_t i = 0; i < stakes.size(); ++i)
        out.push_back({party(static_cast<std::uint8_t>(i + 1)), word(1'000 * number + i), stakes[i]});
    return out;
}

TEST(Draw, SegmentsAreDrawnAtTheirRateWhoeverRevealed) {
    for (const auto& stakes : std::vector<std::vector<std::uint64_t>>{{7}, {1, 1}, {5, 50, 1, 20}, {0, 3, 0}}) {
        int drawn = 0, half = 0;
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            drawn += is_drawn(epoch(i, stakes), 1, 0, i, 500);
            half += is_drawn(epoch(i, stakes), 1, 0, i, 5'000);
        }
        EXPECT_NEAR(drawn, 1'000, 125) << "four standard deviations";
        EXPECT_NEAR(half, 10'000, 285);
        for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(is_drawn(epoch(i, stakes), 1, 0, i, 10'000));
    }
}

TEST(Draw, WithoutStakeNothingIsDrawn) {
    EXPECT_FALSE(is_drawn({}, 1, 0, 0, 10'000));
    EXPECT_FALSE(is_drawn(epoch(1, {0, 0}), 1, 0, 0, 10'000));
}

TEST(Draw, AnyAmountOfStakeIsCounted) {
    EXPECT_TRUE(is_drawn({{party(1), word(1), U256::max()}, {party(2), word(2), U256::max()}}, 1, 0, 0, 10'000));
    EXPECT_FALSE(is_drawn({{party(1), word(1), U256::max()}, {party(2), word(2), U256::max()}}, 1, 0, 0, 0));
}

/// Replaces the preimage by one that draws nothing of this segment at any position.
Reveal silenced(Reveal reveal, std::uint64_t segment, std::uint16_t audit_bp) {
    for (std::uint64_t tries = 0; is_drawn({reveal}, 1, 0, segment, audit_bp); ++tries)
        reveal.preimage = word(10'000'000 + 1'000 * segment + tries);
    return reveal;
}

/// Market 8.2.8: grinding has no effect. A draw of an honest member stands, whatever another member does with its
/// reveal.
TEST(Draw, AWithheldRevealNeverUndoesWhatAnotherDraws) {
    int by_others = 0;
    for (std::uint64_t i = 0; i < 4'000; ++i)
        for (std::size_t cheater = 0; cheater < 3; ++cheater) {
            std::vector<Reveal> all = epoch(i, {40, 30, 30});
            all[cheater] = silenced(all[cheater], i, 4'000);
            if (!is_drawn(all, 1, 0, i, 2'500)) continue;
            ++by_others;
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(cheater));
            EXPECT_TRUE(is_drawn(all, 1, 0, i, 2'500)) << i << " without " << cheater;
        }
    EXPECT_GT(by_others, 3 * 4'000 * 0.15);
}

/// The odds of market 5.1: honest members alone draw at least p (1-f), at any position of the others.
TEST(Draw, HonestStakeDrawsItsShare) {
    for (const std::size_t colluder : {0u, 1u}) {
        int drawn = 0;
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            std::vector<Reveal> reveals = epoch(i, {50, 50});
            reveals[colluder] = silenced(reveals[colluder], i, 600);
            drawn += is_drawn(reveals, 1, 0, i, 1'000);
        }
        EXPECT_GE(drawn, 20'000 * 0.05 - 125) << "p (1-f), and less than p";
        EXPECT_LE(drawn, 20'000 * 0.0527 + 125);
    }
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
    const std::vector<Reveal> reveals{{party(1), word(1), {}}, {party(2), word(2), {}}};
    const Hash32 base = mix_beacon(word(0), 7, reveals);
    EXPECT_NE(base, mix_beacon(word(9), 7, reveals));
    EXPECT_NE(base, mix_beacon(word(0), 8, reveals));
    EXPECT_NE(base, mix_beacon(word(0), 7, {reveals[0]}));
    EXPECT_NE(base, mix_beacon(word(0), 7, {reveals[1], reveals[0]}));
}

}  // namespace
}  // namespace retrace::market
