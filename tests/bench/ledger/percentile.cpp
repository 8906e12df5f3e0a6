// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/bench/ledger/measurements.hpp"

namespace retrace::bench {

double percentile(std::vector<double> samples, double share) {
    if (samples.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1));
    std::nth_element(samples.begin(), samples.begin() + at, samples.end());
    return samples[static_cast<std::size_t>(at)];
}

}  // namespace retrace::bench
