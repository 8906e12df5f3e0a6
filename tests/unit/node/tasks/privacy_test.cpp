// SPDX-License-Identifier: MIT
#include "node/tasks/privacy.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace retrace::node {
namespace {

/// The least over a grid of orders, computed by a script of its own (Python, 20,000 orders and 20,000 more around the
/// best).
TEST(Privacy, EpsilonIsThatOfASearchOverOrders) {
    const struct {
        std::uint64_t uses;
        double noise, delta, epsilon;
    } cases[] = {{1, 1, 1e-5, 4.728387},  {10, 2, 1e-5, 8.078360},   {20, 4, 1e-5, 5.377672}, {3, 0.8, 1e-6, 12.860588},
                 {1, 10, 1e-5, 0.375261}, {100, 30, 1e-3, 0.961819}, {40, 1, 1e-5, 48.754522}};
    for (const auto& one : cases)
        EXPECT_NEAR(epsilon({one.noise, one.uses, one.delta}).value(), one.epsilon, 1e-5) << one.uses;
}

/// Composed Gaussian mechanisms are one, of μ = √uses / σ, whose δ for an ε is known (Balle and Wang 2018): the bound lies
/// above what holds, and close to it.
TEST(Privacy, EpsilonBoundsTheExactPrivacyOfGaussianNoise) {
    const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    for (const std::uint64_t uses : {1, 5, 20, 60})
        for (const double noise : {1.0, 2.5, 8.0}) {
            const double mu = std::sqrt(static_cast<double>(uses)) / noise;
            double low = 0, high = 200;
            for (int i = 0; i < 100; ++i) {
                const double e = (low + high) / 2;
                const double delta = normal(mu / 2 - e / mu) - std::exp(e) * normal(-mu / 2 - e / mu);
                (delta > 1e-5 ? low : high) = e;
            }
            const double bound = epsilon({noise, uses, 1e-5}).value();
            EXPECT_GE(bound, high) << uses << ' ' << noise;
            EXPECT_LE(bound, 1.12 * high) << uses << ' ' << noise;
        }
}

TEST(Privacy, TheLeastNoiseGivesTheEpsilonAskedFor) {
    for (const double wanted : {0.5, 3.6, 5.5, 40.0}) {
        const double noise = noise_for({0, 20, 1e-5}, wanted).value();
        EXPECT_NEAR(epsilon({noise, 20, 1e-5}).value(), wanted, 1e-9);
        EXPECT_GT(epsilon({0.999 * noise, 20, 1e-5}).value(), wanted);
    }
}

TEST(Privacy, WhatIsOutOfRangeIsRefused) {
    for (const double noise : {0.0, -1.0, double{NAN}, double{INFINITY}})
        EXPECT_FALSE(epsilon({noise, 1, 1e-5}).has_value()) << noise;
    EXPECT_FALSE(epsilon({1, 0, 1e-5}).has_value());
    for (const double delta : {0.0, 1.0, -0.5, double{NAN}}) EXPECT_FALSE(epsilon({1, 1, delta}).has_value()) << delta;
    for (const double wanted : {0.0, -2.0, double{NAN}, double{INFINITY}})
        EXPECT_FALSE(noise_for({0, 1, 1e-5}, wanted).has_value()) << wanted;
}

}  // namespace
}  // namespace retrace::node
