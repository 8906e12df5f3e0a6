// SPDX-License-Identifier: MIT
#include <cstdio>
#include <stdexcept>

#include "tests/bench/cluster/measurements.hpp"
#include "tests/bench/cluster/network.hpp"
#include "tests/bench/ledger/measurements.hpp"
#include "tests/bench/ledger/transfer_load.hpp"

namespace retrace::bench {
namespace {

constexpr double kRate = 200;                             // transfers a second
constexpr double kLimitP50 = 1, kLimitP99 = 2.5;          // seconds
constexpr std::chrono::milliseconds kBlockInterval{500};  // of blocks

}  // namespace

std::vector<Row> measure_finality(const ClusterOptions& options) {
    if (options.comet.empty())
        return {{"finality_p50", "s", "skipped: no cometbft"}, {"finality_p99", "s", "skipped: no cometbft"}};
    const auto keys = make_keys(kSenders);
    const Prepared prepared = prepare(keys, static_cast<std::size_t>(kRate * options.seconds), 1);
    const Network network(4, kBlockInterval, keys);
    std::fprintf(stderr, "finality: %.0f seconds, %.0f transfers a second to four nodes\n", options.seconds, kRate);
    const Outcome outcome = offer(network.nodes(), prepared, {0, prepared.requests.size(), kRate});
    if (outcome.refused != 0 || outcome.inclusions.size() != outcome.sent)
        throw std::runtime_error("the network lost transfers");
    return {{"finality_p50", "s", "limit, blocks every 0.5 s", percentile(outcome.inclusions, 0.50), kLimitP50},
            {"finality_p99", "s", "limit, blocks every 0.5 s", percentile(outcome.inclusions, 0.99), kLimitP99}};
}

}  // namespace retrace::bench
