// SPDX-License-Identifier: MIT
// Options shared by many subcommands: a node, a key, and both together. The structs outlive the parsing.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>

#include "ledger/crypto/secp256k1.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/agents/submitter.hpp"

namespace CLI {
class App;
}

namespace retrace::node::cli {

/// --node, --tls-ca, --tls-fingerprint (stored in the fragment of the address) and --timeout.
struct NodeOptions {
    std::string url = "http://127.0.0.1:8545";
    std::optional<std::uint64_t> timeout_s;

    /// `timeout`: text for the default in --help.
    void add_to(CLI::App& command, const std::string& timeout = "10");
    /// Waits for a node that does not answer, at the start and whenever it is restarted, and reports that on standard
    /// error. Malformed addresses are refused here.
    Result<RpcClient> connect() const;
    /// For long-running commands: raises the timeout to ten minutes, unless --timeout is given.
    void wait_longer(RpcClient& client) const;
};

/// --trust-height, --trust-hash: the node's answers are proved from a block of CometBFT that the user trusts.
struct TrustOptions {
    light::TrustedBlock block;

    void add_to(CLI::App& command);
    bool given() const noexcept { return block.height != 0 || !block.hash.empty(); }
    /// What is read through `client`, which outlives it. A proved block that is old brings a warning on standard error.
    ChainReader reader(RpcClient& client) const;
};

/// A node, and what is read of its chain.
struct ChainSession {
    RpcClient client;
    ChainReader chain;

    ChainSession(RpcClient client_in, const TrustOptions& trust)
        : client(std::move(client_in)), chain(trust.reader(client)) {}
    /// The header under which the last answers were proved, as the member "proven"; nothing if none is.
    void add_proven(boost::json::object& out) const;
    /// The same as a line for people, or nothing.
    std::string proven_line() const;
};

/// A node, and whether its answers are proved.
struct ChainOptions {
    NodeOptions node;
    TrustOptions trust;

    void add_to(CLI::App& command, const std::string& timeout = "10");
    Result<std::unique_ptr<ChainSession>> open() const;
};

/// --key, --keys, --passphrase-file, --dev-account.
struct KeyOptions {
    std::string key;                           ///< A keystore file, or an address in the key folder.
    std::string keys;                          ///< The key folder.
    std::string passphrase_file;               ///< Empty: ask at a prompt.
    std::optional<std::uint32_t> dev_account;  ///< Account 0–9 of the developers' mnemonic.

    void add_to(CLI::App& command);
    /// Unlocks the key; asks for the passphrase when no file was given.
    Result<ledger::SecretKey> load() const;
    /// The key's account; asks for no passphrase. Fails if the keystore file does not name it.
    Result<ledger::Address> address() const;
};

/// An account that a command only reads: an address, or without one the account of the key.
struct AddressOptions {
    std::string typed;
    KeyOptions key;

    void add_to(CLI::App& command);
    /// Asks for no passphrase.
    Result<ledger::Address> get() const;
};

/// Adds --keys alone, with its default.
void add_keys_option(CLI::App& command, std::string& keys);

/// A node, and the account that signs.
struct SignerOptions {
    ChainOptions chain;
    KeyOptions key;

    void add_to(CLI::App& command);
};

/// An unlocked account at a node that answered.
struct Session {
    std::unique_ptr<ChainSession> at;
    ledger::SecretKey key;
    std::uint64_t chain_id;
    Submitter submitter;

    static Result<std::unique_ptr<Session>> open(const SignerOptions& options);
    Session(std::unique_ptr<ChainSession> node, ledger::SecretKey key_in, std::uint64_t id)
        : at(std::move(node)), key(std::move(key_in)), chain_id(id), submitter(at->client, key, id, &at->chain) {}
};

/// "2026-11-29 02:40:11 UTC"
std::string utc_text(std::uint64_t seconds);

/// Parses an address typed by a user: in mixed case the EIP-55 checksum must hold, because otherwise a digit is wrong.
Result<ledger::Address> typed_address(const std::string& text);

}  // namespace retrace::node::cli
