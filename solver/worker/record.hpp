// SPDX-License-Identifier: MIT
// How the worker processes of a party fare.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace retrace::solver {

/// A program that ends its worker again and again is put off, longer each time: it costs its own deadlines, and no time
/// of other tasks. Calls may come from several threads.
class WorkerRecord {
public:
    /// Deaths at one piece of work before it is given up for now.
    static constexpr unsigned kDeathsMost = 3;

    using Report = std::function<void(const std::string&)>;
    explicit WorkerRecord(Report report) : report_(std::move(report)) {}

    void started();
    /// A worker of `task` ended by itself, in words that follow "its worker process"; `where`: at which piece of work.
    /// Deaths at another piece than the last one are chance, and counted anew. `weight`: as how many it counts.
    void died(std::uint64_t task, const std::string& how, const std::string& where, unsigned weight = 1);
    /// Work of the task was finished.
    void worked(std::uint64_t task);
    /// What to say instead of starting a worker for the task now; nothing: one may be started.
    std::optional<std::string> put_off(std::uint64_t task) const;

    struct Figures {
        std::uint64_t starts = 0, deaths = 0, tasks_put_off = 0;
    };
    Figures figures() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Deaths {
        unsigned count = 0;  ///< At the same piece of work, since some was finished.
        Clock::time_point next;
        std::string how, where;  ///< The last one.
    };

    Report report_;
    mutable std::mutex mutex_;
    std::uint64_t starts_ = 0, deaths_ = 0;
    std::map<std::uint64_t, Deaths> tasks_;
};

}  // namespace retrace::solver
