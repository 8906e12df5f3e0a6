// SPDX-License-Identifier: MIT
// What light clients of CometBFT, and nodes that fetch a snapshot, ask a node for: signed headers and validators. They
// check the signatures themselves.
#pragma once

#include <atomic>
#include <filesystem>

#include "node/net/http_types.hpp"

namespace retrace::node::engine {

/// Passes a few reading methods on to CometBFT's RPC, which is a UNIX socket and whose other methods are not for
/// strangers: commit, consensus_params, status, validators.
class LightRpc {
public:
    explicit LightRpc(std::filesystem::path rpc_socket) : socket_(std::move(rpc_socket)) {}

    /// A route of the node's HTTP server. Thread-safe. At most four requests are passed on at a time; others get 503.
    HttpRoute route();

private:
    HttpReply answer(const HttpRequest& request);

    std::filesystem::path socket_;
    std::atomic<int> running_ = 0;
};

}  // namespace retrace::node::engine
