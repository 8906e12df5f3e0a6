// SPDX-License-Identifier: MIT
// What a standing is worth, how it decays, and what those gain who try to make or mend one. SPEC 13.
#include "market/standing.hpp"

#include <gtest/gtest.h>

#include "market/draw.hpp"
#include "market/params.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

const U256 kOneCoin = 1'000 * kMilli;

Standing of(const U256& verified, std::uint64_t height = 0) { return with_verified({}, verified, height); }

TEST(Standing, HalvesInFourStepsAtFixedHeights) {
    const U256 million(1'000'000'000);
    EXPECT_EQ(decayed(of(million), kDecayBlocks - 1).verified, million) << "no step between";
    EXPECT_EQ(decayed(of(million, kDecayBlocks - 1), kDecayBlocks).verified, 840'881'347) << "one step";
    const U256 half = decayed(of(million), 4 * kDecayBlocks).verified;
    EXPECT_GT(half, 499'900'000);
    EXPECT_LE(half, 500'000'000);
    EXPECT_EQ(decayed(of(U256::max()), 1'100 * kDecayBlocks).verified, 0);
    EXPECT_EQ(decayed(of(U256::max()), std::uint64_t{1} << 63).verified, 0) << "without a long loop";
    EXPECT_DEATH(decayed(of(million, 5), 4), "later heights");
}

TEST(Standing, DoesNotDependOnHowOftenItChanges) {
    const U256 amount = U256(1'000'000) * kOneCoin;
    Standing touched = of(amount, 7);
    for (std::uint64_t height = 7; height < 10 * kDecayBlocks; height += 9'973)
        touched = with_verified(touched, 0, height);
    EXPECT_EQ(decayed(touched, 10 * kDecayBlocks), decayed(of(amount, 7), 10 * kDecayBlocks));
}

TEST(Standing, AConvictionEndsItAndASilenceHalvesIt) {
    const Standing good = of(8 * kOneCoin);
    EXPECT_EQ(with_loss(good, kOneCoin, false, 1), (Standing{4 * kOneCoin, kOneCoin, 1}));
    EXPECT_EQ(with_loss(good, kOneCoin, true, 1), (Standing{0, kOneCoin, 1}));
    EXPECT_EQ(with_loss(of(0), U256::max(), true, 1).lost, U256::max());
    EXPECT_EQ(with_loss(with_loss({}, U256::max(), true, 1), kOneCoin, true, 1).lost, U256::max()) << "no overflow";
}

/// Coins that an owner of `own` of ten equal members pays to strangers while it has `audits` audits of two auditors each
/// made of its own solver's work, and the standing that it has then.
struct Bought {
    U256 to_strangers;
    Standing standing;
};
Bought self_dealing(std::uint8_t own, std::uint64_t audits, const U256& fee) {
    std::vector<Candidate> members;
    for (std::uint8_t i = 0; i < 10; ++i) {
        Address member;
        member.bytes[0] = i;
        members.push_back({member, kOneCoin});
    }
    Bought out;
    for (std::uint64_t audit = 1; audit <= audits; ++audit) {
        const Hash32 beacon = merkle::Sha256().update_u64(audit).finish();
        for (const Address& auditor : draw_auditors(beacon, audit, 0, members, 2)) {
            out.standing = with_verified(out.standing, fee, audit);
            if (auditor.bytes[0] >= own) out.to_strangers += fee;
        }
    }
    return out;
}

TEST(Standing, BuyingWorkFromOneselfPaysStrangers) {
    constexpr std::uint64_t kAudits = 1'000;
    const U256 fee = kOneCoin / U256(100);
    for (const std::uint8_t own : {0, 2, 4}) {
        const Bought bought = self_dealing(own, kAudits, fee);
        EXPECT_EQ(bought.standing.verified, U256(20) * kOneCoin);
        const U256 expected = bought.standing.verified * U256(10 - own) / U256(10);
        EXPECT_GE(bought.to_strangers, expected * U256(95) / U256(100)) << int{own} << " of ten members";
        EXPECT_LE(bought.to_strangers, expected * U256(105) / U256(100)) << "the draw of this test is a fair one";
    }
}

TEST(Standing, ManyIdentitiesHaveWhatOneHas) {
    const U256 fee = kOneCoin / U256(100);
    const Bought one = self_dealing(0, 100, fee);
    U256 all;
    for (int i = 0; i < 10; ++i) all += self_dealing(0, 10, fee).standing.verified;
    EXPECT_EQ(all, one.standing.verified) << "ten accounts have together what the same coins buy for one";
    EXPECT_EQ(Standing{}.verified, 0) << "an account begins with nothing";
}

/// The standings that two solvers have after the same later work.
void work_on(Standing& a, Standing& b, std::uint64_t from) {
    for (std::uint64_t i = 0; i < 20; ++i)
        for (Standing* one : {&a, &b}) *one = with_verified(*one, kOneCoin, from + i * (kDecayBlocks / 3));
}

TEST(Standing, AfterAConvictionANewAccountHasNoMoreThanTheOldOne) {
    for (const std::uint64_t audits : {1, 100, 1'000}) {
        Standing old = with_loss(self_dealing(2, audits, kOneCoin).standing, kOneCoin, true, 2'000), fresh;
        work_on(old, fresh, 3'000);
        EXPECT_EQ(old.verified, fresh.verified) << "whatever it had before: " << audits << " audits";
        EXPECT_FALSE(fresh.verified.is_zero());
    }
}

TEST(Standing, AfterASilenceANewAccountHasLessThanTheOldOne) {
    Standing old = with_loss(self_dealing(2, 100, kOneCoin).standing, kOneCoin, false, 2'000), fresh;
    work_on(old, fresh, 3'000);
    EXPECT_GT(old.verified, fresh.verified);
}

}  // namespace
}  // namespace retrace::market
