// SPDX-License-Identifier: MIT
// Metrics of a solver or a verifier for its operator. They are written to a file because the agent's port is open to
// strangers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "node/agents/earnings.hpp"
#include "solver/agent/agent.hpp"
#include "solver/worker/record.hpp"

namespace retrace::node {

struct AgentFigures {
    std::string role;  ///< "solver" or "verifier".
    std::uint64_t height = 0;
    std::uint64_t duties = 0;  ///< A solver's runs, or a verifier's seats in audits.
    std::uint64_t disputes = 0;
    Earnings earnings;                ///< Since the start.
    std::uint64_t problems = 0;       ///< Logged since the start.
    std::uint64_t pending_calls = 0;  ///< Calls that were sent and are in no block yet.
    std::uint64_t remembered = 0;  ///< Tasks, auctions, seats and sealed bids in memory; grows with the open ones only.
    solver::WorkerRecord::Figures workers;    ///< The processes that run tasks.
    std::vector<solver::FailedWork> waiting;  ///< Work orders that failed and will be retried.
};

/// Formats the figures in Prometheus' text format. No text from strangers is in it.
std::string metrics_text(const AgentFigures& figures);

/// Writes `metrics.prom` in the agent's folder, in the format of the textfile collector of Prometheus' node exporter.
/// The file is replaced atomically.
class MetricsFile {
public:
    explicit MetricsFile(const std::filesystem::path& folder) : path_(folder / "metrics.prom") {}
    /// Writes every ten blocks, and when the amount of work that waits for a retry has changed. A failed write is
    /// logged at debug level and does not stop the agent.
    void write(const AgentFigures& figures);
    /// Whether the next call would write.
    bool is_due(std::uint64_t height) const noexcept {
        return written_height_ == 0 || height >= written_height_ + kEvery;
    }

private:
    static constexpr std::uint64_t kEvery = 10;  ///< Blocks.
    std::filesystem::path path_;
    std::uint64_t written_height_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace retrace::node
