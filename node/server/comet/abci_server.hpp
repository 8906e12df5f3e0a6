// SPDX-License-Identifier: MIT
// Serves ABCI on a UNIX socket. CometBFT opens four connections; what each is for shows only in its messages.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::engine {

struct AbciServerOptions {
    std::string path;                     ///< Of the socket, at most 107 bytes, in a folder that is ours alone.
    std::size_t queue_bytes = 64U << 20;  ///< Requests of one connection that wait for an answer.
    std::size_t unsent_bytes = 1U << 20;  ///< Answers are sent at the latest when they have this size.
};

struct AbciAnswer {
    Bytes message;       ///< Encoded, without its length.
    bool flush = false;  ///< What was answered so far is sent.
    bool fatal = false;  ///< The connection is closed after this answer.
};
/// Answers one encoded request. Requests of one connection come in order and one at a time; those of different
/// connections come at the same time.
using AbciHandler = std::function<AbciAnswer(View request)>;

/// Each connection has a thread that reads and one that answers and writes, so that it goes on reading while its peer
/// does not read: a CometBFT that waits for us to read cannot read either (Tendermint's pull request 9030).
class AbciServer {
public:
    /// Replaces a socket that an earlier process left at the path. `on_failure` is called from a thread of the server
    /// when a peer breaks the protocol.
    static Result<std::unique_ptr<AbciServer>> start(AbciServerOptions options, AbciHandler handler,
                                                     std::function<void(const std::string&)> on_failure);
    /// Closes all connections; no handler runs any more when it returns.
    ~AbciServer();

private:
    struct Impl;
    explicit AbciServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node::engine
