// SPDX-License-Identifier: MIT
// The RPC of our own CometBFT, over its UNIX socket.
#pragma once

#include <boost/json/value.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "merkle/base/durable_file.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

struct CometStatus {
    Height height = 0;
    bool catching_up = false;
    std::size_t peers = 0;
};

/// A kept-alive connection. Blocking; a CometBFT that reads or writes nothing for ten seconds is an error. Not
/// thread-safe.
class CometRpc {
public:
    explicit CometRpc(std::filesystem::path socket) : path_(std::move(socket)) {}

    Result<CometStatus> status();
    /// CometBFT's consensus parameters; nullopt as long as it has no state, because it fetches a snapshot.
    Result<std::optional<boost::json::value>> consensus_params();
    /// Gives up to kBatchMax transactions of at most kBatchBytes to the mempool, without waiting for its check. An Error
    /// if CometBFT did not answer; it may take any of them or not, e.g. when its mempool is full.
    Status<> broadcast(const std::vector<Bytes>& txs);
    /// The answer to a request of JSON-RPC, at most 4 MiB.
    Result<std::string> pass_on(const std::string& request) { return post(request); }

    static constexpr std::size_t kBatchMax = 10;  ///< CometBFT's limit of requests in a batch.
    /// A transaction has at most 128 KiB; in base 64 a batch stays far below the limit that `home` sets.
    static constexpr std::size_t kBatchBytes = 512U << 10;

private:
    Result<std::string> post(const std::string& body);
    Status<> connect();

    std::filesystem::path path_;
    FileDescriptor socket_;
};

}  // namespace retrace::node::engine
