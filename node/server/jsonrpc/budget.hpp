// SPDX-License-Identifier: MIT
// What one request may still use: time, and how long those at both ends wait.
#pragma once

#include <atomic>
#include <chrono>

#include "node/server/jsonrpc/error.hpp"

namespace retrace::node::rpc {

/// Belongs to one request, all of whose batch shares it. `hang_up` may come from any thread.
class Budget {
public:
    using Clock = std::chrono::steady_clock;

    /// `stopping` outlives this: set when the server ends.
    Budget(Clock::time_point deadline, const std::atomic<bool>& stopping)
        : deadline_(deadline), stopping_(stopping) {}

    /// The client has gone: nobody will read the answer.
    void hang_up() noexcept { gone_ = true; }
    /// Whether there is anybody to answer.
    bool abandoned() const noexcept { return gone_ || stopping_; }
    Status<RpcError> check() const {
        if (abandoned()) return server_error("the connection is closed");
        if (Clock::now() >= deadline_) return rpc_error(kTimedOut, "request timed out");
        return Unit{};
    }

private:
    const Clock::time_point deadline_;
    const std::atomic<bool>& stopping_;
    std::atomic<bool> gone_{false};
};

}  // namespace retrace::node::rpc
