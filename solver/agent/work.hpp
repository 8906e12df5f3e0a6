// SPDX-License-Identifier: MIT
// Work orders: long computations that agents hand out. The service runs `run` on a worker thread, one order of a party
// at a time (all orders of a party share its task cache and store), and returns the result to the agent on the agent's
// thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kernels/runtime/stop_token.hpp"
#include "solver/run/preemption.hpp"

namespace retrace::solver {

/// Task and run.
using RunKey = std::pair<std::uint64_t, std::uint32_t>;

template <class Result>
struct WorkOrder {
    std::string what;  ///< For the log: "train task 3 to checkpoint 7".
    std::function<Result()> run;
    std::uint64_t fetch_by = 0;  ///< From this height on it no longer waits for peers; 0: no limit.
    /// Polled while the order waits for peers, on the thread that runs it. On a stop the wait ends and the order is
    /// preempted.
    kernels::StopToken stop = {};
    RunKey fetches_of = {};  ///< The run whose material it fetches, so that the run's solver is asked first.
};

/// Makes an order that catches exceptions: the result is then `blank` with the reason in its `problem`, so that, for
/// example, a failed allocation does not end the party's other runs. The exception Preempted
/// sets `preempted` instead of a problem.
template <class Result, class Done, class Run>
WorkOrder<Result> make_order(std::string what, Done blank, Run run, std::uint64_t fetch_by = 0,
                             RunKey fetches_of = {}) {
    const auto guarded = [blank = std::move(blank), run = std::move(run)]() -> Result {
        try {
            return run();
        } catch (const Preempted&) {
            Done out = blank;
            out.preempted = true;
            return out;
        } catch (const std::exception& failed) {
            Done out = blank;
            out.problem = std::string("given up: ") + failed.what();
            return out;
        }
    };
    return {std::move(what), guarded, fetch_by, {}, fetches_of};
}

/// Remembers sent moves that the chain does not show yet; a move is repeated only after `timeout` blocks.
class Outbox {
public:
    explicit Outbox(std::uint64_t timeout) : timeout_(timeout) {}

    /// Whether to send the move now: true the first time, and again once `timeout` blocks passed since the last time.
    bool due(const std::string& key, std::uint64_t height) {
        const auto [at, first] = sent_.try_emplace(key, height);
        if (first) return true;
        if (height < at->second + timeout_) return false;
        at->second = height;
        return true;
    }
    /// Forgets moves last sent more than 100 timeouts ago, so that the outbox does not grow without bound.
    void sweep(std::uint64_t height) {
        std::erase_if(sent_, [&](const auto& item) { return item.second + 100 * timeout_ < height; });
    }

private:
    std::uint64_t timeout_;
    std::map<std::string, std::uint64_t> sent_;
};

}  // namespace retrace::solver
