// SPDX-License-Identifier: MIT
// Options that subcommands with a node and a key share.
#pragma once

#include "ledger/crypto/secp256k1.hpp"
#include "node/cli/cli.hpp"
#include "node/service/party.hpp"

namespace retrace::node::cli {

struct KeyOptions {
    std::string node_url = "http://127.0.0.1:8545";
    std::string key_file;
    std::string passphrase_file;
};
/// --node, --key, --passphrase-file
void add_key_options(CLI::App& command, KeyOptions& options);
/// Unlocks the keystore; asks for the passphrase when no file was given.
Result<ledger::SecretKey> unlock(const KeyOptions& options);

struct AgentFlags {
    KeyOptions key;
    std::string data_dir, listen = "127.0.0.1", endpoint, stake, log_level = "info", cheat;
    std::uint16_t port = 0;
    unsigned threads = 0;
    std::uint64_t poll_ms = 50;
};
/// --data-dir, --listen, --port, --endpoint, --stake, --threads, --poll-ms, --log-level, --cheat and the
/// key's.
void add_agent_options(CLI::App& command, AgentFlags& flags);
Result<PartyOptions> party_options(const AgentFlags& flags);

/// Runs `body` until SIGINT or SIGTERM; a second signal ends the process at once. Everything that an agent
/// must remember is on the chain and in files that appear whole, so stopping in the middle loses nothing.
int run_until_signal(const std::function<void(const std::atomic<bool>& stop)>& body);

}  // namespace retrace::node::cli
