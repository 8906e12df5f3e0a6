// SPDX-License-Identifier: MIT
#include <cstdio>
#include <stdexcept>

#include "ledger/tx/tx_codec.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/measurements.hpp"
#include "tests/bench/ledger/transfer_load.hpp"

namespace retrace::bench {

double recoveries_per_second() {
    const auto keys = make_keys(1);
    const Bytes raw = transfer(keys[0], 0, 0)->raw;
    const auto decoded = ledger::decode_tx(raw);
    const Hash32 digest = ledger::signing_hash(decoded->tx);
    double best = 0;
    for (int round = 0; round < 5; ++round) {  // minimum, because other processes only add time
        constexpr int kCount = 2000;
        const auto start = Clock::now();
        for (int i = 0; i < kCount; ++i) {
            if (!ledger::recover(digest, decoded->signature)) throw std::runtime_error("recovery failed");
        }
        best = std::max(best, kCount / seconds_since(start));
    }
    return best;
}

std::vector<Row> measure_transfers(const Options& options) {
    const double most = options.rate > 0 ? options.rate : 40'000;
    const auto batches = static_cast<std::size_t>(most * options.seconds / kBatch) + 1;
    std::fprintf(stderr, "transfers: signing %zu\n", batches * kBatch);
    const auto keys = make_keys(kSenders);
    const Prepared prepared = prepare(keys, batches);
    const Folder folder;
    std::vector<ledger::Address> rich;
    for (const auto& key : keys) rich.push_back(key.address());
    const auto genesis = write_genesis(folder.path(), rich);
    const BenchNode node(folder.path(), {"--genesis", genesis.string()});
    std::fprintf(stderr, "transfers: %.0f seconds, %s\n", options.seconds,
                 options.rate > 0 ? (std::to_string(static_cast<int>(options.rate)) + " offered per second").c_str()
                                  : "as many as the node takes");
    const double cpu_before = node.cpu_seconds();
    const Outcome outcome =
        offer({{node.port()}}, prepared, {0, prepared.requests.size(), options.rate, options.seconds});
    std::fprintf(stderr, "transfers: %zu sent, %zu refused, %zu in blocks after %.2f s, node holds %.0f MiB\n",
                 outcome.sent, outcome.refused, outcome.inclusions.size(), outcome.seconds, node.resident_mib());
    if (outcome.inclusions.size() + outcome.refused != outcome.sent) {
        throw std::runtime_error("the node lost transfers");
    }
    const double recoveries = recoveries_per_second();
    const double rate = static_cast<double>(outcome.inclusions.size()) / outcome.seconds;
    const double cpu_us = 1e6 * (node.cpu_seconds() - cpu_before) / static_cast<double>(outcome.sent);
    return {{"transfers", "1/s", "floor", rate, 8000},
            {"transfers_of_recovery", "1/s", "signature recoveries, one core", rate, recoveries},
            {"transfer_inclusion_p50", "s", "limit of the 99th percentile", percentile(outcome.inclusions, 0.50), 2},
            {"transfer_inclusion_p99", "s", "limit", percentile(outcome.inclusions, 0.99), 2},
            {"transfer_cpu", "us", "one signature recovery", cpu_us, 1e6 / recoveries}};
}

}  // namespace retrace::bench
