// SPDX-License-Identifier: MIT
// Options that subcommands with a node and a key share.
#pragma once

#include "node/cli/cli.hpp"
#include "node/cli/key_options.hpp"
#include "node/service/party.hpp"

namespace retrace::node::cli {

/// A node, and the account that signs.
struct SignerOptions {
    std::string node_url = "http://127.0.0.1:8545";
    KeyOptions key;
};
/// --node and the options of a key.
void add_signer_options(CLI::App& command, SignerOptions& options);
/// Unlocks the key; asks for the passphrase when no file was given.
inline Result<ledger::SecretKey> unlock(const SignerOptions& options) {
    return options.key.load();
}

struct AgentFlags {
    SignerOptions key;
    std::string data_dir, listen = "127.0.0.1", endpoint, stake, log_level = "info", cheat;
    std::uint16_t port = 0;
    unsigned threads = 0;
    std::uint64_t poll_ms = 50, keep_blocks = 5'000;
    std::optional<std::uint64_t> patience_s;
};
/// --data-dir, --listen, --port, --endpoint, --stake, --threads, --poll-ms, --keep-blocks, --patience, --log-level,
/// --cheat and the key's.
void add_agent_options(CLI::App& command, AgentFlags& flags);
Result<PartyOptions> party_options(const AgentFlags& flags);

/// Runs `body` until SIGINT or SIGTERM; a second signal ends the process at once. Everything that an agent
/// must remember is on the chain and in files that appear whole, so stopping in the middle loses nothing.
int run_until_signal(const std::function<void(const std::atomic<bool>& stop)>& body);

}  // namespace retrace::node::cli
