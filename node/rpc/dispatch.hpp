// SPDX-License-Identifier: MIT
// JSON-RPC 2.0 around the table of methods: bytes in, bytes out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "node/rpc/router.hpp"

namespace retrace::node::rpc {

struct DispatchLimits {
    std::size_t depth = 32;                   ///< Of nested JSON.
    std::size_t batch = 1000;                 ///< Requests in one batch.
    std::size_t response_bytes = 25'000'000;  ///< Of one batch; the requests after that are refused.
};

/// Told of every call: method (registered names only, otherwise "unknown"), whether it failed, seconds.
using CallObserver = std::function<void(const std::string& method, bool failed, double seconds)>;

class Dispatcher {
public:
    /// `router` outlives the dispatcher.
    Dispatcher(const Router& router, DispatchLimits limits, CallObserver observer = {})
        : router_(router), limits_(limits), observer_(std::move(observer)) {}

    /// One request or batch. An empty string when there is nothing to answer (notifications).
    std::string handle(std::string_view body, Caller& caller) const;

private:
    /// The answer to one request as text; empty for a notification.
    std::string handle_one(const json::value& request, Caller& caller) const;
    std::string handle_batch(const json::array& requests, Caller& caller) const;
    Answer run(const json::object& request, Caller& caller) const;

    const Router& router_;
    DispatchLimits limits_;
    CallObserver observer_;
};

}  // namespace retrace::node::rpc
