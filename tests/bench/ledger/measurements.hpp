// SPDX-License-Identifier: MIT
// What `bench_ledger` measures. Each call makes its own chain and says on standard error what it does.
#pragma once

#include <vector>

#include "tests/bench/rows.hpp"

namespace retrace::bench {

struct Options {
    bool json = false;
    double seconds = 60;   ///< Of load, for transfers; reads take a third of it.
    double rate = 10'000;  ///< Transfers offered per second; 0: as many as the node takes.
};

/// The value below which `share` of the samples lie; 0 when there are none.
double percentile(std::vector<double> samples, double share);

/// Signatures that one core recovers, per second.
double recoveries_per_second();

/// Signed transfers, from their first byte on a socket to a block on disk.
std::vector<Row> measure_transfers(const Options& options);
/// The same transfers through our node and through a reference node of another project, in turn.
std::vector<Row> measure_peer(const Options& options);
/// Balances and calls, on kept-alive connections.
std::vector<Row> measure_reads(const Options& options);
/// Time of one block when the state holds ten thousand and a million accounts.
std::vector<Row> measure_accounts(const Options& options);
/// Start and idle memory of a node.
std::vector<Row> measure_idle(const Options& options);

}  // namespace retrace::bench
