// SPDX-License-Identifier: MIT
// Long computations, handed out by agents: the service runs `run` on a worker thread, one order of a party at
// a time (all of a party's orders share its task cache and store), and gives the result back to the agent on
// its own thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "solver/run/preemption.hpp"

namespace retrace::solver {

template <class Result>
struct WorkOrder {
    std::string what;  ///< For the log: "train task 3 to checkpoint 7".
    std::function<Result()> run;
    std::uint64_t fetch_by = 0;  ///< From this height on it waits for no peer any more; 0: no such height.
    /// Asked while it waits for peers: true: it waits for none any more, and is put off. From the thread that runs it.
    std::function<bool()> gives_way = {};
};

/// An order that ends with `blank` and the reason in its `problem` when it throws: memory may not be to be had, and
/// that is no reason for the other runs of the party to die. It is put off, without a problem, when it throws PutOff.
template <class Result, class Done, class Run>
WorkOrder<Result> make_order(std::string what, Done blank, Run run, std::uint64_t fetch_by = 0) {
    const auto guarded = [blank = std::move(blank), run = std::move(run)]() -> Result {
        try {
            return run();
        } catch (const PutOff&) {
            Done out = blank;
            out.put_off = true;
            return out;
        } catch (const std::exception& failed) {
            Done out = blank;
            out.problem = std::string("given up: ") + failed.what();
            return out;
        }
    };
    return {std::move(what), guarded, fetch_by, {}};
}

/// Moves that were handed out and that the chain does not show yet; one is repeated only after some blocks.
class Outbox {
public:
    explicit Outbox(std::uint64_t timeout) : timeout_(timeout) {}

    /// Whether to send now: the first time, and again when `timeout` blocks went by since the last.
    bool due(const std::string& key, std::uint64_t height) {
        const auto [at, first] = sent_.try_emplace(key, height);
        if (first) return true;
        if (height < at->second + timeout_) return false;
        at->second = height;
        return true;
    }
    /// Forgets what is long past, so that the box does not grow for ever.
    void sweep(std::uint64_t height) {
        std::erase_if(sent_, [&](const auto& item) { return item.second + 100 * timeout_ < height; });
    }

private:
    std::uint64_t timeout_;
    std::map<std::string, std::uint64_t> sent_;
};

}  // namespace retrace::solver
