// SPDX-License-Identifier: MIT
// Counts the failures of a party's worker processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace retrace::solver {

/// Exponential backoff for tasks whose program repeatedly ends its worker: such a program costs its own deadlines and
/// no time of other tasks. Thread-safe.
class WorkerRecord {
public:
    /// Deaths at one piece of work after which it is given up for now.
    static constexpr unsigned kDeathsMost = 3;

    using Report = std::function<void(const std::string&)>;
    explicit WorkerRecord(Report report) : report_(std::move(report)) {}

    void started();
    /// Records that a worker of `task` ended by itself. `how` is a phrase that follows "its worker process"; `where`
    /// names the piece of work. A death at another piece of work than the last one restarts the count, because it is
    /// taken for chance. The death counts `weight` times.
    void died(std::uint64_t task, const std::string& how, const std::string& where, unsigned weight = 1);
    /// Records that work of the task was finished; resets its deaths.
    void worked(std::uint64_t task);
    /// Why no worker of the task may be started now; nullopt if one may.
    std::optional<std::string> backoff(std::uint64_t task) const;

    struct Figures {
        std::uint64_t starts = 0, deaths = 0, tasks_in_backoff = 0;
    };
    Figures figures() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Deaths {
        unsigned count = 0;  ///< Deaths at the same piece of work since some work was finished.
        Clock::time_point next;
        std::string how, where;  ///< As of the last death.
    };

    Report report_;
    mutable std::mutex mutex_;
    std::uint64_t starts_ = 0, deaths_ = 0;
    std::map<std::uint64_t, Deaths> tasks_;
};

}  // namespace retrace::solver
