// SPDX-License-Identifier: MIT
// The configuration of a node, read from a TOML file and then overridden by command-line flags.
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
    /// Allowed origins, with ":*" for any port, or "*". If none is given, a developer chain allows those of this
    /// machine.
    std::vector<std::string> cors;
    /// Additional host names that requests may carry in Host, or "*"; see http_head.
    std::vector<std::string> allowed_hosts;
    std::uint64_t connections = 2048;
    std::uint64_t connections_per_address = 256;  ///< For other machines only, as is the next limit.
    std::uint64_t requests_per_second = 1000;     ///< For each address; 0: no limit.
    bool tls = false;                             ///< HTTPS and WSS instead of HTTP and WebSocket.
    std::string tls_cert;                         ///< PEM, with tls_key; empty: self-signed, in the data directory.
    std::string tls_key;
    bool console = true;  ///< Serves the console, a web page, at "/".
    /// Callers that retrace_dialBack connects back to: off (nobody), public (addresses that the Internet knows) or all
    /// (also those of private networks).
    std::string dial_back = "public";
};

struct EngineConfig {
    std::string kind = "solo";  ///< solo: this node decides alone; comet: CometBFT among the genesis' validators.
    std::uint64_t block_ms = 1000;
    bool empty_blocks = true;
    std::optional<ledger::Address> proposer;  ///< Receives the tips; solo only.
    // The rest is for comet.
    std::string cometbft;              ///< Executable; empty: beside this program, in PATH or in Go's folder.
    std::string p2p_host = "0.0.0.0";  ///< Address that other nodes reach.
    std::uint16_t p2p_port = 26656;
    std::vector<std::string> peers;  ///< "id@host:port"
    bool private_network = false;    ///< Peers may have private addresses, and several the same one.
    /// URLs of nodes: a new node fetches a snapshot, verified from the block of CometBFT that it trusts.
    std::vector<std::string> sync_from;
    std::uint64_t trust_height = 0;
    std::string trust_hash;  ///< 64 hex digits.
};

/// What is kept on disk. Numbers of blocks are counted back from the newest one.
struct StorageConfig {
    std::uint64_t keep_states = 1024;  ///< Number of newest states that can be read.
    std::uint64_t keep_blocks = 0;     ///< Blocks with their receipts; at least keep_states. 0: all.
    bool archive = false;              ///< Keeps every block and every state forever.
    std::uint64_t snapshot_every = 0;  ///< Blocks between snapshots for nodes that join (comet); 0: none.
};

/// Disk space for the programs and data of requesters.
struct ArtifactsConfig {
    std::uint64_t quota_mib = 0;            ///< In total; 0: half of what was free or used by artifacts at the start.
    std::uint64_t requester_quota_mib = 0;  ///< For all tasks of one requester; 0: a quarter of the total.
    std::uint64_t mib_per_coin = 1024;      ///< For a task, for each coin of its escrow.
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

/// Reads a TOML file into `config`. Unknown keys and wrong values are Errors that name the file, the line, the key and
/// the allowed values.
Status<> load_config(const std::string& path, Config& config);
/// Same for TOML text; `name` stands for the file in errors.
Status<> parse_config(std::string_view text, const std::string& name, Config& config);
/// Checks the rules that concern several keys, and that a data directory is named; e.g. a developer chain must listen
/// on loopback.
Status<> check(const Config& config);
/// Checks that a chain whose accounts are the developers' answers on loopback only.
Status<> check_published_keys(const Config& config);

}  // namespace retrace::node
