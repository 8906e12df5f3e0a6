// SPDX-License-Identifier: MIT
// Rounds of masks with members that drop, and with a record that is told differently to different members. market/SPEC 15.
#include <gtest/gtest.h>

#include "tests/unit/masks/cohort.hpp"

namespace retrace::test {
namespace {

std::vector<std::uint32_t> shuffled_runs(const Cohort& cohort, std::mt19937_64& random) {
    std::vector<std::uint32_t> runs;
    for (const auto& [run, member] : cohort.members) runs.push_back(run);
    std::shuffle(runs.begin(), runs.end(), random);
    return runs;
}

/// Drops `count` random members at random steps, or all at `step`.
Drops random_drops(const Cohort& cohort, std::size_t count, std::optional<int> step, std::mt19937_64& random) {
    Drops out;
    std::set<std::uint32_t>* const steps[] = {&out.before_shares, &out.before_message, &out.before_unmasking};
    const auto runs = shuffled_runs(cohort, random);
    for (std::size_t i = 0; i < count; ++i)
        steps[static_cast<std::size_t>(step.value_or(static_cast<int>(random() % 3)))]->insert(runs[i]);
    return out;
}

TEST(MaskRounds, TheSumIsExactWhoeverOfAThirdDropsAtAnyStep) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const std::size_t members = 4 + random() % 9;
        Cohort cohort(members, seed);
        const Drops drops = random_drops(cohort, members / 3, std::nullopt, random);
        const auto sum = cohort.play(33, drops);
        ASSERT_TRUE(sum.has_value()) << slug(sum.error());
        EXPECT_EQ(*sum, cohort.sum_of_values());
    }
}

TEST(MaskRounds, AllOfAThirdMayDropAtOneStep) {
    for (int step = 0; step < 3; ++step) {
        for (std::size_t members = 4; members <= 12; ++members) {
            SCOPED_TRACE(testing::Message() << members << " members, step " << step);
            std::mt19937_64 random(members);
            Cohort cohort(members, members);
            const auto sum = cohort.play(17, random_drops(cohort, members / 3, step, random));
            ASSERT_TRUE(sum.has_value()) << slug(sum.error());
            EXPECT_EQ(*sum, cohort.sum_of_values());
        }
    }
}

TEST(MaskRounds, NobodyUnmasksTheSumOfTwo) {
    for (int step = 0; step < 2;
         ++step) {  // Two of three shares give a secret, but each of two would know the other's.
        std::mt19937_64 random(1);
        Cohort cohort(3, 1);
        const auto sum = cohort.play(5, random_drops(cohort, 1, step, random));
        ASSERT_FALSE(sum.has_value());
        EXPECT_EQ(sum.error(), MaskError::too_few);
    }
    std::mt19937_64 random(1);
    Cohort cohort(3, 1);
    EXPECT_TRUE(cohort.play(5, random_drops(cohort, 1, 2, random)).has_value());
}

TEST(MaskRounds, BelowTheThresholdTheRoundIsVoid) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const std::size_t members = 3 + random() % 10;
        Cohort cohort(members, seed);
        const std::size_t dropped = members - market::share_threshold(members) + 1;
        const auto sum = cohort.play(5, random_drops(cohort, dropped, static_cast<int>(random() % 3), random));
        ASSERT_FALSE(sum.has_value());
        EXPECT_EQ(sum.error(), MaskError::too_few);
    }
}

TEST(MaskRounds, AMessageOfOneMemberIsNotItsValues) {
    Cohort cohort(4, 1);
    cohort.deal();
    cohort.send(64);
    for (const auto& [run, words] : cohort.messages) {
        std::size_t equal = 0;
        for (std::size_t i = 0; i < words.size(); ++i)
            equal += words[i] == (static_cast<std::uint32_t>(cohort.values.at(run)[i]) & 0xfff) ? 1 : 0;
        EXPECT_LT(equal, 4u);
    }
}

TEST(MaskRounds, NobodyGetsBothKindsOfShareOfAMemberFromARunThatDrops) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const std::size_t members = 3 + random() % 10;
        Cohort cohort(members, seed);
        static_cast<void>(cohort.play(3, random_drops(cohort, random() % (members + 1), std::nullopt, random)));
        for (const auto& [dealer, shares] : cohort.masked.dealt) {
            std::set<ShareKind> kinds;
            for (const auto& [run, own] : cohort.revealed) {
                const auto found = own.find(dealer);
                if (found == own.end()) continue;
                for (const ShareKind kind : {ShareKind::self, ShareKind::mask})
                    if (market::is_dealt(cohort.masked.cohort, dealer, shares, run, kind,
                                         std::get<Scalar>(found->second)))
                        kinds.insert(kind);
            }
            EXPECT_LE(kinds.size(), 1u) << "run " << dealer;
        }
    }
}

/// A coordinator that tells each honest member another record, with a coalition of about a third that gives it all it
/// knows. It learns both secrets of a member only with a threshold of shares of each.
TEST(MaskRounds, ACoordinatorThatLiesAboutWhoDroppedNeverGetsBothSecrets) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const std::size_t members = 4 + random() % 9;
        Cohort cohort(members, seed);
        const auto runs = shuffled_runs(cohort, random);
        const std::set<std::uint32_t> coalition(
            runs.begin(), runs.begin() + static_cast<long>((2 * market::share_threshold(members) - members - 1)));
        cohort.deal();
        cohort.send(3);
        std::map<std::uint32_t, std::map<ShareKind, std::set<std::uint32_t>>> known;
        for (auto& [run, member] : cohort.members) {
            if (coalition.contains(run)) {
                for (const auto& [dealer, shares] : cohort.masked.dealt)
                    for (const ShareKind kind : {ShareKind::self, ShareKind::mask}) known[dealer][kind].insert(run);
                continue;
            }
            Runs told;  // Who is recorded, as this member is told: as few as it accepts, or more.
            const auto order = shuffled_runs(cohort, random);
            const std::size_t least = market::share_threshold(members);
            told.assign(order.begin(), order.begin() + static_cast<long>(least + random() % (members - least + 1)));
            std::sort(told.begin(), told.end());
            const auto shares = member.unmask(told);
            ASSERT_TRUE(shares.has_value());
            EXPECT_EQ(member.unmask(cohort.masked.recorded).error(), MaskError::wrong_phase);
            for (const auto& [dealer, share] : *shares) {
                const bool recorded = std::binary_search(told.begin(), told.end(), dealer);
                known[dealer][recorded ? ShareKind::self : ShareKind::mask].insert(run);
            }
        }
        const std::size_t threshold = market::share_threshold(members);
        for (auto& [dealer, kinds] : known) {
            if (coalition.contains(dealer)) continue;
            EXPECT_FALSE(kinds[ShareKind::self].size() >= threshold && kinds[ShareKind::mask].size() >= threshold)
                << "run " << dealer << " of " << members;
        }
    }
}

/// SPEC 15.5: one member more than in the test before suffices.
TEST(MaskRounds, TwoThresholdsLessTheMembersGetBothSecretsOfAMember) {
    for (std::size_t members = 4; members <= 12; ++members) {
        SCOPED_TRACE(members);
        Cohort cohort(members, members);
        cohort.deal();
        cohort.send(3);
        const std::size_t threshold = market::share_threshold(members), coalition = 2 * threshold - members;
        Runs all;
        for (const auto& [run, member] : cohort.members) all.push_back(run);
        const std::uint32_t victim = all.back();
        const Runs others(all.begin(), all.end() - 1);
        std::map<ShareKind, std::size_t> known{{ShareKind::self, coalition}, {ShareKind::mask, coalition}};
        for (std::size_t i = coalition; i < members; ++i) {
            const bool told = all[i] == victim || known[ShareKind::self] + 1 < threshold;
            const auto shares = cohort.members.at(all[i]).unmask(told ? all : others);
            ASSERT_TRUE(shares.has_value());
            ASSERT_TRUE(shares->contains(victim));
            ++known[told ? ShareKind::self : ShareKind::mask];
        }
        EXPECT_EQ(known[ShareKind::self], threshold);
        EXPECT_EQ(known[ShareKind::mask], threshold);
    }
}

TEST(MaskRounds, NoKeyGivesOneKeystreamTwice) {
    // Seeds of all masks of three rounds, one of them repeated: those of a pair are used by its two members, with
    // opposite signs, all others once.
    std::set<Hash32> seen;
    std::size_t seeds = 0;
    for (const MaskRound round : {MaskRound{7, 3, 0}, MaskRound{7, 3, 1}, MaskRound{7, 4, 0}}) {
        std::mt19937_64 random(9);  // The same secrets in each: even then the seeds differ.
        std::vector<market::MaskSecrets> secrets;
        for (int i = 0; i < 5; ++i) secrets.push_back(market::MaskSecrets::random(random_of(random)));
        for (std::uint32_t i = 0; i < 5; ++i) {
            seen.insert(market::self_seed(round, i, secrets[i].self));
            ++seeds;
            for (std::uint32_t j = i + 1; j < 5; ++j, ++seeds) {
                const auto mine = ledger::shared_point(secrets[i].mask, ledger::public_point(secrets[j].mask));
                const auto other = ledger::shared_point(secrets[j].mask, ledger::public_point(secrets[i].mask));
                EXPECT_EQ(market::pair_seed(round, i, j, mine), market::pair_seed(round, j, i, other));
                seen.insert(market::pair_seed(round, i, j, mine));
            }
        }
    }
    EXPECT_EQ(seen.size(), seeds);
}

}  // namespace
}  // namespace retrace::test
