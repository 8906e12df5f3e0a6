// SPDX-License-Identifier: MIT
// What light clients of CometBFT, and nodes that fetch a snapshot, ask a node for: signed headers and validators. They
// check the signatures themselves.
#pragma once

#include <filesystem>
#include <semaphore>

#include "node/net/http_types.hpp"

namespace retrace::node::engine {

/// Passes a few reading methods on to CometBFT's RPC, which is a UNIX socket and whose other methods are not for
/// strangers: commit, consensus_params, validators.
class LightRpc {
public:
    explicit LightRpc(std::filesystem::path rpc_socket) : socket_(std::move(rpc_socket)) {}

    /// A route of the node's HTTP server. Thread-safe. One request is passed on at a time, so that a CometBFT
    /// that does not answer holds one of the server's workers only; others wait for half a second and get 503.
    HttpRoute route();

private:
    HttpReply answer(const HttpRequest& request);

    std::filesystem::path socket_;
    std::binary_semaphore running_{1};  ///< CometBFT answers one request at a time.
};

}  // namespace retrace::node::engine
