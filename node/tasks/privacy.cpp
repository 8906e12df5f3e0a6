// SPDX-License-Identifier: MIT
#include "node/tasks/privacy.hpp"

#include <algorithm>
#include <cmath>

namespace retrace::node {
namespace {

bool is_positive(double x) { return std::isfinite(x) && x > 0; }

/// The arguments are in range.
double least_epsilon(double noise, double uses, double delta) {
    // The derivative by α is cost + (ln δ + ln α) / (α - 1)², so the least is where cost · (α - 1)² + ln δ + ln α, which
    // grows with α, is 0: below 1 / δ.
    const double cost = uses / (2 * noise * noise), log_delta = std::log(delta);
    double low = 1, high = 1 / delta;
    for (int i = 0; i < 200; ++i) {
        const double order = low + (high - low) / 2;
        (cost * (order - 1) * (order - 1) + log_delta + std::log(order) < 0 ? low : high) = order;
    }
    const double order = high;
    const double out = cost * order + std::log((order - 1) / order) - (log_delta + std::log(order)) / (order - 1);
    return std::max(0.0, out);
}

Status<> check(const PrivacySpec& spec) {
    if (spec.uses == 0) return error("privacy: an example is used at least once");
    if (!(spec.delta > 0 && spec.delta < 1)) return error("privacy: delta is not between 0 and 1");
    return Unit{};
}

}  // namespace

Result<double> epsilon(const PrivacySpec& spec) {
    RETRACE_CHECK(check(spec));
    if (!is_positive(spec.noise)) return error("privacy: the noise is no finite number over 0");
    return least_epsilon(spec.noise, static_cast<double>(spec.uses), spec.delta);
}

Result<double> noise_for(PrivacySpec spec, double wanted) {
    RETRACE_CHECK(check(spec));
    if (!is_positive(wanted)) return error("privacy: epsilon is no finite number over 0");
    const auto uses = static_cast<double>(spec.uses);
    double low = 0, high = 1;
    while (least_epsilon(high, uses, spec.delta) > wanted) high *= 2;
    for (int i = 0; i < 200; ++i) {
        const double noise = low + (high - low) / 2;
        (least_epsilon(noise, uses, spec.delta) > wanted ? low : high) = noise;
    }
    return high;
}

}  // namespace retrace::node
