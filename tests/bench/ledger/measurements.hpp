// SPDX-License-Identifier: MIT
// Measurements of `bench_ledger`. Each call creates its own chain and reports its progress on standard error.
#pragma once

#include <vector>

#include "tests/bench/rows.hpp"

namespace retrace::bench {

struct Options {
    bool json = false;
    double seconds = 60;   ///< Duration of the load for transfers; reads take a third of it.
    double rate = 10'000;  ///< Transfers offered per second; 0: as many as the node accepts.
};

/// Returns the value below which `share` of the samples lie; 0 if there are no samples.
double percentile(std::vector<double> samples, double share);

/// Signature recoveries per second on one core.
double recoveries_per_second();

/// Signed transfers, from the first byte on a socket to a block on disk.
std::vector<Row> measure_transfers(const Options& options);
/// The same transfers through our node and a reference node of another project, alternating.
std::vector<Row> measure_peer(const Options& options);
/// Reads of balances and view calls, on kept-alive connections.
std::vector<Row> measure_reads(const Options& options);
/// Time of one block with ten thousand and with a million accounts in the state.
std::vector<Row> measure_accounts(const Options& options);
/// Start time and idle memory of a node.
std::vector<Row> measure_idle(const Options& options);

}  // namespace retrace::bench
