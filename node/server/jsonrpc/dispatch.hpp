// SPDX-License-Identifier: MIT
// JSON-RPC 2.0 around the table of methods: bytes in, bytes out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "node/server/jsonrpc/request_body.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

struct DispatchLimits {
    BodyLimits body;
    std::size_t response_bytes = 25'000'000;  ///< Of one batch; the requests after that are refused.
    std::size_t light_bytes = 65'536;         ///< Larger bodies are never light.
    std::size_t light_batch = 128;
    std::size_t brief_bytes = 1024;
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
    std::string handle(const RequestBody& body, Caller& caller) const;
    /// Whether it can be handled where others wait: below 10 milliseconds, whoever wrote it.
    bool is_light(const RequestBody& body, std::size_t bytes) const;
    /// The answer to a request that is not handled at all; nullptr: nor parsed.
    static std::string refuse(const RequestBody* body, int code, const char* message);
    const DispatchLimits& limits() const noexcept { return limits_; }

private:
    RequestCost cost_of(const json::value& request) const;
    /// The answer to one request as text; empty for a notification.
    std::string handle_one(const json::value& request, Caller& caller) const;
    std::string handle_batch(const json::array& requests, Caller& caller) const;
    Answer run(const json::object& request, Caller& caller) const;

    const Router& router_;
    DispatchLimits limits_;
    CallObserver observer_;
};

}  // namespace retrace::node::rpc
