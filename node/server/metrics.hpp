// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace retrace::node {

/// Counters of the node in Prometheus' text format. Thread-safe.
class Metrics {
public:
    Metrics();
    ~Metrics();

    void rpc_call(const std::string& method, bool failed, double seconds);
    void block(std::uint64_t height, std::size_t txs, std::uint64_t gas_used);

    struct Gauges {
        std::size_t pool_pending = 0;
        std::size_t pool_queued = 0;
        std::size_t http_connections = 0;
        std::size_t ws_connections = 0;
        std::uint64_t refused = 0;
        std::uint64_t broken_invariants = 0;
    };
    /// The exposition text; `gauges` are values that the caller reads at the time of the request.
    std::string text(const Gauges& gauges) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node
