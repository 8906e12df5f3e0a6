// SPDX-License-Identifier: MIT
// JSON-RPC 2.0 dispatcher: parses a request body, calls the methods and returns the answer as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "node/server/jsonrpc/request_body.hpp"
#include "node/server/jsonrpc/router.hpp"

namespace retrace::node::rpc {

struct DispatchLimits {
    BodyLimits body;
    std::size_t response_bytes = 25'000'000;  ///< For one batch; later requests of it are refused.
    std::size_t light_bytes = 65'536;         ///< Larger bodies are never light.
    std::size_t light_batch = 128;
    std::size_t brief_bytes = 1024;
};

/// Called after every call with the method ("unknown" if not registered), whether it failed, and its duration.
using CallObserver = std::function<void(const std::string& method, bool failed, double seconds)>;

class Dispatcher {
public:
    /// `router` outlives the dispatcher.
    Dispatcher(const Router& router, DispatchLimits limits, CallObserver observer = {})
        : router_(router), limits_(limits), observer_(std::move(observer)) {}

    /// Handles one request or batch. Returns an empty string if there is nothing to answer (notifications).
    std::string handle(std::string_view body, Caller& caller) const;
    std::string handle(const RequestBody& body, Caller& caller) const;
    /// Whether the body can be handled on an I/O thread: it takes less than 10 milliseconds even if a hostile client
    /// wrote it.
    bool is_light(const RequestBody& body, std::size_t bytes) const;
    /// The error answer for a body that is not handled; `body` is nullptr if it was not parsed either.
    static std::string refuse(const RequestBody* body, int code, const char* message);
    const DispatchLimits& limits() const noexcept { return limits_; }

private:
    RequestCost cost_of(const json::value& request) const;
    /// The answer to one request as text; empty for a notification.
    std::string handle_one(const json::value& request, std::string_view number_id, Caller& caller) const;
    std::string handle_batch(const json::array& requests, const RequestBody& body, Caller& caller) const;
    Answer run(const json::object& request, Caller& caller) const;

    const Router& router_;
    DispatchLimits limits_;
    CallObserver observer_;
};

}  // namespace retrace::node::rpc
