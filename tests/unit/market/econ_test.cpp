// SPDX-License-Identifier: MIT
// Parameters under which cheating would pay are detected, and the chain's own are not among them.
#include "market/econ.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "market/econ_simulation.hpp"

namespace retrace::market {
namespace {

/// Profit estimates round against the rules by a few of the smallest units, so an exact minimum is met with a small
/// margin.
constexpr std::uint64_t kRounding = 1'000'000;

Setting setting_of(std::uint64_t audit_bp = 500, std::uint8_t auditors = 2) {
    Setting setting;
    setting.spec.steps = 100;
    setting.spec.interval = 1;
    setting.spec.price_ceiling = 5 * kMilli;
    setting.spec.audit_bp = static_cast<std::uint16_t>(audit_bp);
    setting.spec.auditors = auditors;
    setting.stake = stake_floor(setting.params, setting.spec).value();
    return setting;
}

std::string names(const std::vector<Prospect>& prospects) {
    std::string out;
    for (const Prospect& p : prospects) out += std::string(slug(p.fraud)) + " ";
    return out;
}

Prospect of(const Setting& setting, Fraud fraud) {
    for (const Prospect& p : prospects(setting))
        if (p.fraud == fraud) return p;
    return {};
}

double coins(const U256& amount) { return std::stod(amount.to_decimal()) / 1e18; }
double gain(const Setting& setting, Fraud fraud) {
    const Prospect p = of(setting, fraud);
    return coins(p.win) - coins(p.lose);
}

TEST(Econ, NoFraudPaysWithTheParametersOfGenesis) { EXPECT_EQ(names(faults(setting_of())), ""); }

struct SweptTask {
    std::uint64_t segments;
    U256 price;
    std::uint64_t cost_bp;
};
/// From the smallest unit to the most expensive segment that a task may have; computing costs up to the whole price.
const SweptTask kTasks[] = {
    {1, 5 * kMilli, 8'000},
    {2, 5 * kMilli, 10'000},
    {3, U256(5'000'000'000), 8'000},
    {100, 5 * kMilli, 8'000},
    {100, 1'000 * kMilli, 10'000},
    {100, U256(5'000) * U256(1'000 * kMilli), 8'000},
    {10'000, 20 * kMilli, 8'000},
    {100, 1, 10'000},
    {100, U256::max() / (U256(1) + U256(~std::uint64_t{0})) / (U256(1) + U256(~std::uint64_t{0})), 10'000}};

/// For any task and any assumptions of genesis, the stake floor that a bid must lock is enough.
TEST(Econ, NoFraudPaysOverTheSweep) {
    std::size_t settings = 0;
    for (const std::uint64_t p : {100u, 250u, 500u, 1'000u, 2'500u, 5'000u, 9'900u, 10'000u})
        for (std::uint8_t v = 1; v <= 5; ++v)
            for (const std::uint64_t f : {0u, 1'000u, 3'300u, 6'600u})
                for (const std::uint64_t a : {0u, 500u, 2'000u, 5'000u, 9'000u})
                    for (const auto& [n, price, cost] : kTasks) {
                        Setting setting = setting_of(p, v);
                        setting.params.collusion_bp = f;
                        setting.params.challenger_share_bp = a;
                        setting.spec.steps = n;
                        setting.spec.price_ceiling = price;
                        setting.cost_bp = cost;
                        setting.stake = stake_floor(setting.params, setting.spec).value();
                        EXPECT_EQ(names(faults(setting)), "")
                            << p << " " << int{v} << " " << f << " " << a << " " << n << " " << price.to_decimal();
                        ++settings;
                    }
    EXPECT_EQ(settings, 8u * 5 * 4 * 5 * std::size(kTasks));
}

TEST(Econ, AStakeThatIsTooLowIsFound) {
    Setting setting = setting_of();
    setting.params.safety_bp = kBasisPoints;  // Then a conviction pays no costs (SPEC 6.3).
    setting.stake = limits(setting)->least_stake + kRounding;
    EXPECT_EQ(names(faults(setting)), "") << "the least stake is enough";
    setting.stake = mul_div(setting.stake, 99, 100);
    EXPECT_EQ(names(faults(setting)), "skip_segment skip_all grind_beacon several_tasks ")
        << "a decoy costs a bond more";
    setting.stake = {};
    EXPECT_NE(names(faults(setting)).find("skip_segment"), std::string::npos);
}

TEST(Econ, OtherParametersThatInviteCheatingAreFound) {
    Setting setting = setting_of();
    setting.params.beacon_penalty = {};
    EXPECT_EQ(names(faults(setting)), "") << "a withheld reveal redraws nothing, whatever it costs";
    setting.params.collusion_bp = 4'000;
    EXPECT_EQ(names(faults(setting)), "grind_beacon starve_auditors ")
        << "this stake was not locked for so many colluders";
    setting = setting_of();
    setting.params.audit_bond = setting.params.audit_fee = 1;
    setting.params.audit_fee_bp = 0;
    EXPECT_EQ(names(faults(setting)), "skip_audit idle_verdict ");
    setting = setting_of();
    setting.spec.price_ceiling = 1'000 * kMilli;
    setting.stake = stake_floor(setting.params, setting.spec).value();
    EXPECT_EQ(names(faults(setting)), "") << "stake and fee follow the price";
    setting.params.audit_fee_bp = 0;  // A fixed fee is far below the cost of a replay.
    EXPECT_EQ(names(faults(setting)), "skip_audit idle_verdict ");
}

TEST(Econ, ProspectsAreTheClosedForms) {
    const Setting setting = setting_of();
    const double g = 0.005, p = 0.05, a = 0.2, costs = 0.005, stake = coins(setting.stake);
    EXPECT_NEAR(gain(setting, Fraud::skip_segment), (1 - p) * g - p * ((1 - a) * stake - costs), 1e-9);
    const double factor = (1 - std::pow(1 - p, 98)) / p;
    EXPECT_NEAR(gain(setting, Fraud::skip_all), factor * gain(setting, Fraud::skip_segment), 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::accuse_self), -(1 - a) * stake + costs, 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::bribe_auditors), g - p * 2 * a * stake, 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::skip_audit), 0.004 - 0.015, 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::grind_beacon), gain(setting, Fraud::skip_segment), 1e-9);
    EXPECT_EQ(limits(setting)->price_for_auditors, U256::max()) << "a replay costs less than the segment";
    Setting flat = setting;
    flat.params.audit_fee_bp = 0;
    EXPECT_NEAR(coins(limits(flat)->price_for_auditors), 0.00625, 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::starve_auditors), (1 - p) * g - p * stake, 1e-9);
    Setting colluding = setting;
    colluding.params.collusion_bp = 1'000;
    const double unserved = p * std::pow(0.9, 1 + 2 * 4), ground = p * 0.9 * 0.99, net = (1 - a) * stake - costs;
    EXPECT_NEAR(gain(colluding, Fraud::starve_auditors), (1 - unserved) * g - unserved * stake, 1e-9);
    EXPECT_NEAR(gain(colluding, Fraud::grind_beacon), (1 - ground) * g - ground * net, 1e-9);
    EXPECT_NEAR(gain(colluding, Fraud::skip_segment), (1 - p * 0.99) * g - p * 0.99 * net, 1e-9);
}

TEST(Econ, DecoysAndSeveralTasksAreWorthNoMoreThanOneFraud) {
    const Setting setting = setting_of();
    const double one = gain(setting, Fraud::skip_segment);
    EXPECT_NEAR(gain(setting, Fraud::several_tasks), 256 * one, 1e-9);
    EXPECT_NEAR(gain(setting, Fraud::dispute_decoy), one - 0.05, 1e-9) << "half of the bond is burned";
    EXPECT_NEAR(gain(setting, Fraud::harass_solver), 5 * 0.004 - 0.05, 1e-9);
    Setting dear = setting;
    dear.spec.price_ceiling = 10'000 * kMilli;
    dear.stake = stake_floor(dear.params, dear.spec).value();
    EXPECT_NEAR(gain(dear, Fraud::harass_solver), 5 * 8.0 - 50.0, 1e-9) << "the bond follows the price";
    dear.params.solver_cost_bp = 3'000;
    EXPECT_EQ(names(faults(dear)), "harass_solver ") << "a part of the bond that does not cover the work";
}

TEST(Econ, TheStakeBearsTheCollusionItIsSaidToBear) {
    Setting setting = setting_of();
    EXPECT_NEAR(static_cast<double>(limits(setting)->served_collusion_bp), 3'831, 2)
        << "q ((1-a) S - costs) = (1-q) g with q = p (1-f) (1-f^2)";
    const std::uint64_t share = limits(setting)->collusion_bp;
    EXPECT_NEAR(static_cast<double>(share), 937, 3) << "q S = (1-q) g with q = p (1-f)^9";
    setting.params.collusion_bp = share;
    EXPECT_EQ(names(faults(setting)), "");
    setting.params.collusion_bp = share + 1;
    EXPECT_NE(names(faults(setting)), "");
}

TEST(Econ, WithoutAuditsThereAreNoLimits) {
    EXPECT_FALSE(limits([] {
                     Setting setting = setting_of();
                     setting.spec.audit_bp = 0;
                     return setting;
                 }())
                     .has_value());
}

TEST(Econ, BooksOfAHundredSegments) {
    const AuditBooks books = audit_books(setting_of());
    EXPECT_EQ(books.audits_milli, 6'900u);
    EXPECT_EQ(books.replays_bp, 1'380u) << "two auditors: below 15 % of the training";
    EXPECT_EQ(books.fees, U256(69 * kMilli));
    EXPECT_GT(books.income, books.expense);
    EXPECT_EQ(audit_books(setting_of(500, 1)).replays_bp, 690u) << "one auditor: below 10 %";
}

TEST(Economy, HonestAgentsEarnMost) {
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
        const Economy economy = simulate_economy(setting_of(), {1'000, seed});
        EXPECT_TRUE(economy.conserved);
        EXPECT_GT(economy.bad_segments, 100u);
        EXPECT_GT(economy.caught, 50u);
        for (const auto* side : {&economy.solvers, &economy.verifiers, &economy.rings})
            for (const StrategyResult& result : *side) {
                EXPECT_GT(result.jobs, 0u) << result.strategy;
                if (result.strategy == "honest") {
                    EXPECT_EQ(result.convictions, 0u);
                    continue;
                }
                EXPECT_TRUE((*side)[0].better_than(result))
                    << result.role << " " << result.strategy << ", seed " << seed;
            }
        EXPECT_TRUE(economy.honest_best());
    }
}

TEST(Economy, IsRepeatedByItsSeed) {
    const auto digest = [](std::uint64_t seed) {
        std::string text;
        for (const StrategyResult& r : simulate_economy(setting_of(), {50, seed}).solvers)
            text += r.earned.to_decimal() + "/" + r.spent.to_decimal() + " ";
        return text;
    };
    EXPECT_EQ(digest(7), digest(7));
    EXPECT_NE(digest(7), digest(8));
}

TEST(Economy, CheatingPaysWhereHardlyAnythingIsAuditedAndStakesAreNothing) {
    Setting setting = setting_of(10);
    setting.stake = {};
    for (const std::uint64_t seed : {1u, 2u, 3u})
        EXPECT_FALSE(simulate_economy(setting, {300, seed}).honest_best()) << seed;
}

}  // namespace
}  // namespace retrace::market
