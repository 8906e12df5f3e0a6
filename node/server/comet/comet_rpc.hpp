// SPDX-License-Identifier: MIT
// The RPC of our own CometBFT, over its UNIX socket.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "merkle/base/durable_file.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

/// What became of a transaction that was given to CometBFT's mempool.
enum class Broadcast : std::uint8_t {
    taken,  ///< It is gossiped, or was before.
    full,   ///< The mempool has no room; a later try may succeed.
    refused,
};

struct CometStatus {
    Height height = 0;
    bool catching_up = false;
    std::size_t peers = 0;
};

/// A kept-alive connection. Calls block, at most ten seconds; not thread-safe.
class CometRpc {
public:
    explicit CometRpc(std::filesystem::path socket) : path_(std::move(socket)) {}

    Result<CometStatus> status();
    /// Gives up to kBatchMax transactions to the mempool, without waiting for its check. One result for each.
    Result<std::vector<Broadcast>> broadcast(const std::vector<Bytes>& txs);

    static constexpr std::size_t kBatchMax = 10;  ///< CometBFT's limit of requests in a batch.

private:
    Result<std::string> post(const std::string& body);
    Status<> connect();

    std::filesystem::path path_;
    FileDescriptor socket_;
};

}  // namespace retrace::node::engine
