// SPDX-License-Identifier: MIT
// What a solver or a verifier tells its operator in numbers: a file, because its port is for strangers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "solver/agent/agent.hpp"
#include "solver/worker/record.hpp"

namespace retrace::node {

struct AgentFigures {
    std::string role;  ///< "solver" or "verifier".
    std::uint64_t height = 0;
    std::uint64_t duties = 0;  ///< Runs, or seats in audits.
    std::uint64_t disputes = 0;
    std::uint64_t problems = 0;              ///< Logged since the start.
    std::uint64_t unsent = 0;                ///< Calls that wait for a block.
    std::uint64_t remembered = 0;            ///< Tasks, auctions, seats and sealed bids: follows what is open.
    solver::WorkerRecord::Figures workers;   ///< The processes that run tasks.
    std::vector<solver::Waiting> waiting;    ///< Work that failed and is tried again.
};

/// Prometheus' text format; no word of a stranger is in it.
std::string metrics_text(const AgentFigures& figures);

/// `metrics.prom` in the agent's folder, as the textfile collector of Prometheus' node exporter reads it. Appears
/// whole.
class MetricsFile {
public:
    explicit MetricsFile(const std::filesystem::path& folder) : path_(folder / "metrics.prom") {}
    /// Every ten blocks, and when what waits for another attempt has changed. A disk that does not take it is no reason
    /// to stop.
    void write(const AgentFigures& figures);

private:
    std::filesystem::path path_;
    std::uint64_t written_height_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace retrace::node
