// SPDX-License-Identifier: MIT
// Long computations, handed out by agents: the service runs `run` on a worker thread, one order of a party at
// a time (all of a party's orders share its workshop and store), and gives the result back to the agent on
// its own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace retrace::solver {

template <class Result>
struct WorkOrder {
    std::string what;  ///< For the log: "train task 3 to checkpoint 7".
    std::function<Result()> run;
};

/// Moves that were handed out and that the chain does not show yet; one is repeated only after some blocks.
class Outbox {
public:
    explicit Outbox(std::uint64_t patience) : patience_(patience) {}

    /// Whether to send now: the first time, and again when `patience` blocks went by since the last.
    bool due(const std::string& key, std::uint64_t height) {
        const auto [at, first] = sent_.try_emplace(key, height);
        if (first) return true;
        if (height < at->second + patience_) return false;
        at->second = height;
        return true;
    }
    /// Forgets what is long past, so that the box does not grow for ever.
    void sweep(std::uint64_t height) {
        std::erase_if(sent_, [&](const auto& item) { return item.second + 100 * patience_ < height; });
    }

private:
    std::uint64_t patience_;
    std::map<std::string, std::uint64_t> sent_;
};

}  // namespace retrace::solver
