// SPDX-License-Identifier: MIT
// Limits a request's run time: it ends at its deadline, when the client disconnects or when the server stops.
#pragma once

#include <atomic>
#include <chrono>

#include "node/server/jsonrpc/error.hpp"

namespace retrace::node::rpc {

/// Belongs to one request body; all requests of a batch share it. `hang_up` may be called from any thread.
class Budget {
public:
    using Clock = std::chrono::steady_clock;

    /// `stopping` outlives the budget; it is set when the server stops.
    Budget(Clock::time_point deadline, const std::atomic<bool>& stopping) : deadline_(deadline), stopping_(stopping) {}

    /// Called when the client has disconnected, so that nobody will read the answer.
    void hang_up() noexcept { gone_ = true; }
    /// Whether the client has disconnected or the server is stopping.
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
