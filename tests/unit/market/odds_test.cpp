// SPDX-License-Identifier: MIT
#include "market/odds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "market/escrow.hpp"

namespace retrace::market {
namespace {

double as_double(const Ratio& ratio) {
    // Both sides are below 2^94; three limbs of 32 bits are exact enough for a comparison.
    const auto number = [](const U256& v) {
        return static_cast<double>(v.limbs()[1]) * 0x1p64 + static_cast<double>(v.limbs()[0]);
    };
    return number(ratio.numerator) / number(ratio.denominator);
}

TEST(Odds, FivePercentAsksForTwentyThreePointSevenFiveTimesTheGain) {
    Params params;
    params.safety_bp = 10'000;
    EXPECT_EQ(stake_floor(params, 500, 2, 100).value(), U256(2'376)) << "strictly more than 23.75 gains";
    params.safety_bp = 20'000;
    EXPECT_EQ(stake_floor(params, 500, 2, 100).value(), U256(4'752));
}

TEST(Odds, TheFloorIsTheLeastStakeThatMakesHonestyBest) {
    Params params;
    params.safety_bp = 10'000;
    params.redraws = 0;
    for (const std::uint64_t p : {1u, 100u, 500u, 2'500u, 9'999u, 10'000u})
        for (const std::uint64_t f : {0u, 1'000u, 5'000u, 9'000u})
            for (std::uint8_t v = 1; v <= 5; ++v) {
                params.collusion_bp = f;
                const double p_eff = p / 1e4 * (1 - f / 1e4) * (1 - std::pow(f / 1e4, v));
                EXPECT_NEAR(as_double(effective_audit_probability(p, f, v)), p_eff, 1e-12);
                const double gain = 1e9;
                const double p_starved = p / 1e4 * std::pow(1 - f / 1e4, 1 + v);
                const double closed =
                    std::max({(1 - p_eff) * gain / (p_eff * 0.8), (1 - p_starved) * gain / p_starved, gain});
                const double floor = static_cast<double>(stake_floor(params, p, v, 1'000'000'000).value().low64());
                EXPECT_NEAR(floor, closed + 1, 2 + closed * 1e-9) << p << " " << f << " " << int{v};
            }
}

/// A solver that serves only colluding auditors is caught if none of all the drawn ones colludes.
TEST(Odds, TheFloorCountsOnAuditorsThatAreNotServed) {
    Params params;
    for (const std::uint64_t redraws : {0u, 1u, 3u})
        for (const std::uint64_t f : {0u, 1'000u, 3'300u})
            for (std::uint8_t v = 1; v <= 3; ++v) {
                params.redraws = redraws;
                params.collusion_bp = f;
                const Ratio unserved = unserved_audit_probability(500, params, v);
                const double odds = 0.05 * std::pow(1 - f / 1e4, 1 + v * (1 + redraws));
                EXPECT_NEAR(static_cast<double>(detection_ppm(unserved, 1)), 1e6 * odds, 1) << f << " " << int{v};
            }
    params.collusion_bp = 9'999;
    params.redraws = 3;
    EXPECT_FALSE(stake_floor(params, 500, 5, 100).has_value()) << "so many colluders that nobody honest is left";
}

TEST(Odds, HoweverMuchIsAuditedThereIsSomethingToLose) {
    const Params params;
    EXPECT_EQ(stake_floor(params, 10'000, 2, 1'000).value(), ledger::mul_div(1'000, params.safety_bp, kBasisPoints));
    EXPECT_EQ(stake_floor(params, 9'000, 2, 1'000).value(), stake_floor(params, 10'000, 2, 1'000).value());
}

TEST(Odds, WithoutAuditsNoStakeIsEnough) { EXPECT_FALSE(stake_floor(Params{}, 0, 2, 100).has_value()); }

TEST(Odds, TheLargestGainDoesNotOverflow) {
    Params params;
    params.collusion_bp = 9'999;
    const U256 gain = U256::max() / (U256(1) + U256(~std::uint64_t{0})) / (U256(1) + U256(~std::uint64_t{0}));
    params.redraws = 0;
    EXPECT_GT(stake_floor(params, 1, 1, gain).value(), gain);
}

TEST(Odds, DetectionIsTheClosedForm) {
    const Ratio p = effective_audit_probability(500, 0, 2);
    for (const std::uint64_t bad : {0u, 1u, 2u, 5u, 10u, 100u, 10'000u})
        EXPECT_NEAR(static_cast<double>(detection_ppm(p, bad)), 1e6 * (1 - std::pow(0.95, bad)), 1.5) << bad;
    EXPECT_EQ(detection_ppm(effective_audit_probability(10'000, 0, 1), 1), 1'000'000u);
}

TEST(Odds, AuditCostIsAShareOfThePrice) {
    Params params;
    params.audit_fee = 10;
    params.audit_fee_bp = 500;  // the floor is higher
    TaskSpec spec;
    spec.steps = 100;
    spec.interval = 1;
    spec.price_ceiling = 100;
    spec.audit_bp = 500;
    spec.auditors = 2;
    // (2 + 98 · 5 %) audits of 20 over 100 segments of 100.
    EXPECT_EQ(audit_cost_bp(params, spec), 138u);
    params.audit_fee_bp = 5'000;
    EXPECT_EQ(audit_cost_bp(params, spec), 690u) << "half of the price for each replay";
}

TEST(Escrow, IsTheCeilingOfAllSegmentsAndTheAuditFees) {
    Params params;
    params.audit_fee = 5;
    params.audit_fee_bp = 0;
    TaskSpec spec;
    spec.steps = 25;
    spec.interval = 10;
    spec.price_ceiling = 100;
    spec.auditors = 2;
    spec.replicas = 3;
    const auto escrow = escrow_of(spec, params).value();
    EXPECT_EQ(escrow.work, U256(900));
    EXPECT_EQ(escrow.audits, U256(90));
    EXPECT_EQ(escrow.total(), U256(990));
    params.audit_fee_bp = 7'000;
    EXPECT_EQ(audit_fee(params, spec), U256(70)) << "the share of the price, where it is more than the floor";
    EXPECT_EQ(escrow_of(spec, params)->audits, U256(70 * 2 * 9));
    EXPECT_EQ(escrow_of_more(spec, params, 1, 2).audits, U256(70 * 2 * 4));
    spec.price_ceiling = U256::max();
    EXPECT_FALSE(escrow_of(spec, params).has_value());
}

TEST(Escrow, SplitsAreExact) {
    for (const std::uint64_t amount : {0ull, 1ull, 3ull, 9'999ull, 10'000ull, 123'456'789ull})
        for (const std::uint64_t share : {0u, 1u, 2'000u, 9'999u}) {
            const Split parts = split(amount, share);
            EXPECT_EQ(parts.share + parts.burned, U256(amount));
            EXPECT_EQ(parts.share, U256(amount * share / 10'000));
        }
}

}  // namespace
}  // namespace retrace::market
