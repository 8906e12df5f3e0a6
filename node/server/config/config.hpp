// SPDX-License-Identifier: MIT
// One struct holds what a node is told: by a TOML file first, by flags after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/types/address.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

struct RpcConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8545;
    /// Origins, with ":*" for any port, or "*". A developer chain takes those of this machine when none is named.
    std::vector<std::string> cors;
    /// More host names that requests may name, or "*"; see http_head.
    std::vector<std::string> allowed_hosts;
    std::uint64_t connections = 2048;
    std::uint64_t connections_per_address = 256;  ///< Other machines' only, as the next one.
    std::uint64_t requests_per_second = 1000;     ///< Of one address; 0: no limit.
    bool tls = false;                             ///< HTTPS and WSS instead of HTTP and WebSocket.
    std::string tls_cert;                         ///< PEM, with tls_key; empty: self-signed, in the data directory.
    std::string tls_key;
};

struct EngineConfig {
    std::uint64_t block_ms = 1000;
    bool empty_blocks = true;
    std::optional<ledger::Address> proposer;  ///< Receives the tips.
};

/// What stays on disk. Heights are counted behind the newest block.
struct StorageConfig {
    std::uint64_t keep_states = 1024;  ///< States that can be read.
    std::uint64_t keep_blocks = 0;     ///< Blocks with their receipts; at least keep_states. 0: all.
    bool archive = false;              ///< Every block and every state, for ever.
};

/// What requesters' programs and data may take of the disk.
struct ArtifactsConfig {
    std::uint64_t quota_mib = 0;            ///< In all; 0: half of what was free when the node started.
    std::uint64_t requester_quota_mib = 0;  ///< Of all tasks of one requester; 0: a quarter of that.
    std::uint64_t mib_per_coin = 1024;      ///< Of a task, for each coin of its escrow.
};

struct LogConfig {
    std::string level = "info";  ///< trace, debug, info, warn, error, off.
};

struct Config {
    bool dev = false;  ///< A throw-away chain on loopback with funded, published keys.
    std::string data_dir;
    std::string genesis;  ///< JSON file; needed once, when the data directory is new.
    RpcConfig rpc;
    EngineConfig engine;
    StorageConfig storage;
    ArtifactsConfig artifacts;
    LogConfig log;
};

/// Reads a TOML file into `config`. Unknown keys and wrong values are Errors that name the file, the key,
/// what is there and what may be there.
Status<> load_config(const std::string& path, Config& config);
/// The same for text; `name` stands for the file in errors.
Status<> parse_config(std::string_view text, const std::string& name, Config& config);
/// What no single key can tell: a data directory is named, a developer chain stays on loopback.
Status<> check(const Config& config);

}  // namespace retrace::node
