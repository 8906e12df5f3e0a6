// SPDX-License-Identifier: MIT
// Measurements of `bench_cluster`: four validators on this machine, with the real CometBFT. Each call makes its own
// network and reports its progress on standard error.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/bench/rows.hpp"

namespace retrace::bench {

struct ClusterOptions {
    double seconds = 20;            ///< Of each load.
    std::uint64_t blocks = 10'000;  ///< That a new node fetches.
    std::filesystem::path comet;    ///< Empty: rows that need CometBFT have no value, and say so.
    std::filesystem::path kvstore;  ///< The program abci-cli; empty: no peer.
};

/// Verification of one header that 100 validators signed.
std::vector<Row> measure_light(const ClusterOptions& options);
/// Time from sending a transfer to its receipt, at 200 transfers a second.
std::vector<Row> measure_finality(const ClusterOptions& options);
/// Transfers a second at saturation, and those of CometBFT's kvstore, in turn.
std::vector<Row> measure_throughput(const ClusterOptions& options);
/// Seconds in which a new node has a chain: by its blocks, and by a snapshot.
std::vector<Row> measure_sync(const ClusterOptions& options);

}  // namespace retrace::bench
