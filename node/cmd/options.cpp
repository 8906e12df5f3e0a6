// SPDX-License-Identifier: MIT
#include "node/cmd/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "ledger/crypto/eip55.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/client_defaults.hpp"
#include "node/net/certificate.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/key_folder.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {
namespace {

constexpr std::uint64_t kTimeout = 10, kLongTimeout = 600;  // Seconds.

}  // namespace

std::string utc_text(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text;
}

void NodeOptions::add_to(CLI::App& command, const std::string& timeout) {
    command.add_option("--node", url, "JSON-RPC of a node (" + url + ")");
    const auto file = std::make_shared<std::string>(), fingerprint = std::make_shared<std::string>();
    auto* ca =
        command.add_option("--tls-ca", *file, "PEM file of certificate authorities for an https node (the system's)");
    command
        .add_option("--tls-fingerprint", *fingerprint, "SHA-256 of an https node's certificate, as the node prints it")
        ->check([](const std::string& text) {
            return tls::parse_fingerprint(text) ? std::string() : "64 hex digits are needed, not " + text;
        })
        ->excludes(ca);
    command.add_option("--timeout", timeout_s, "Seconds to wait for a node that does not answer (" + timeout + ")")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000}));
    // The flags become part of the address as parse_url reads it, so that every user of the address knows which
    // certificate to trust.
    command.parse_complete_callback([this, file, fingerprint] {
        // A node has one port for both protocols, so the address for subscriptions is accepted as well.
        if (url.starts_with("ws://") || url.starts_with("wss://")) url.replace(0, 2, "http");
        if (!file->empty()) url += "#ca=" + *file;
        if (!fingerprint->empty()) url += "#sha256=" + *fingerprint;
    });
}

Result<RpcClient> NodeOptions::connect() const {
    RpcClient::Options options;
    options.timeout = std::chrono::seconds(timeout_s.value_or(kTimeout));
    options.on_no_answer = [url = url](const std::string& why) {
        if (why.empty())
            std::cerr << "the node at " << url << " answers\n";
        else
            std::cerr << "waiting for the node at " << url << " (" << why << ")" << std::endl;
    };
    return RpcClient::connect(url, options);
}

void NodeOptions::wait_longer(RpcClient& client) const {
    client.set_timeout(std::chrono::seconds(timeout_s.value_or(kLongTimeout)));
}

void add_keys_option(CLI::App& command, std::string& keys) {
    keys = wallet::KeyFolder::default_path();
    command.add_option("--keys", keys, "Folder of keystore files (" + keys + ")");
}

void TrustOptions::add_to(CLI::App& command) {
    command.add_option("--trust-height", block.height,
                       "Height of a recent block of CometBFT that you trust: what the node says is proved from it");
    command.add_option("--trust-hash", block.hash, "Its hash, 64 hex digits");
}

ChainReader TrustOptions::reader(RpcClient& client) const {
    if (!given()) return ChainReader(client);
    ChainReader out(client, block);
    out.on_old_block([](const std::string& why) { std::cerr << "warning: " << why << std::endl; });
    return out;
}

void ChainSession::add_proven(boost::json::object& out) const {
    const ledger::Header* const header = chain.proven();
    if (header == nullptr) return;
    out["proven"] = boost::json::object{
        {"height", header->height}, {"block_hash", to_0x(view(block_hash(*header)))}, {"timestamp", header->time_s()}};
}

std::string ChainSession::proven_line() const {
    const ledger::Header* const header = chain.proven();
    if (header == nullptr) return {};
    return "proved at block " + std::to_string(header->height) + ", made " + utc_text(header->time_s()) + "\n";
}

void ChainOptions::add_to(CLI::App& command, const std::string& timeout) {
    node.add_to(command, timeout);
    trust.add_to(command);
}

Result<std::unique_ptr<ChainSession>> ChainOptions::open() const {
    RETRACE_TRY(client, node.connect());
    return std::make_unique<ChainSession>(std::move(client), trust);
}

void KeyOptions::add_to(CLI::App& command) {
    command.add_option("--key", key, "Keystore file, or an address whose key is in the folder of --keys");
    add_keys_option(command, keys);
    command.add_option("--passphrase-file", passphrase_file, "File whose first line unlocks the key");
    command.add_option("--dev-account", dev_account, "Use account N (0-9) of the developer chain's published mnemonic")
        ->check(CLI::Range(0U, kDevAccounts - 1));
}

namespace {

void require_key(const std::string& key) {
    if (!key.empty()) return;
    throw CLI::RequiredError("--key FILE, --key ADDRESS or --dev-account N (or RETRACE_KEY, or key in " +
                             client_file() + ")");
}

}  // namespace

Result<ledger::Address> KeyOptions::address() const {
    if (dev_account) {
        RETRACE_TRY(secret, wallet::account_key(kDevMnemonic, "", *dev_account));
        return secret.address();
    }
    require_key(key);
    if (ledger::parse_address(key)) return typed_address(key);
    const auto named = wallet::address_in(key);
    if (!named) return error(key + " does not name its address; give --key ADDRESS");
    return *named;
}

Result<ledger::SecretKey> KeyOptions::load() const {
    if (dev_account) return wallet::account_key(kDevMnemonic, "", *dev_account);
    require_key(key);
    std::string path = key;
    if (ledger::parse_address(key)) {
        RETRACE_TRY(address, typed_address(key));
        const wallet::KeyFolder folder(keys);
        const auto found = folder.find(address);
        const auto files = found ? std::vector<wallet::KeyFile>() : folder.list();
        const auto silent = std::count_if(files.begin(), files.end(), [](const auto& file) { return !file.address; });
        if (!found)
            return error("the folder " + keys + " has no key of " + key +
                         (silent != 0 ? ", unless it is in one of " + std::to_string(silent) +
                                            " keystores there that do not say their address (name it: --key FILE)"
                                      : "") +
                         "; see retrace wallet list");
        path = *found;
    } else if (!std::filesystem::exists(path)) {
        return error("no such keystore file: " + path);
    }
    RETRACE_TRY(passphrase, read_passphrase(passphrase_file, "passphrase of " + path));
    warn_if_open(path);
    return wallet::unlock(path, passphrase.view());
}

void AddressOptions::add_to(CLI::App& command) {
    command.add_option("ADDRESS", typed, "Account (that of --key)");
    key.add_to(command);
}

Result<ledger::Address> AddressOptions::get() const { return typed.empty() ? key.address() : typed_address(typed); }

void SignerOptions::add_to(CLI::App& command) {
    chain.add_to(command);
    key.add_to(command);
}

Result<std::unique_ptr<Session>> Session::open(const SignerOptions& options) {
    RETRACE_TRY(key, options.key.load());
    RETRACE_TRY(at, options.chain.open());
    const auto chain_id = at->chain.chain_id();
    if (!chain_id) return error(chain_id.error().message);
    return std::make_unique<Session>(std::move(at), std::move(key), *chain_id);
}

Result<ledger::Address> typed_address(const std::string& text) {
    const auto address = ledger::parse_address(text);
    if (!address) return error("not an address (\"0x\" and 40 hex digits): " + text);
    if (!ledger::checksum_holds(text)) return error("the address is mistyped, its EIP-55 checksum fails: " + text);
    return *address;
}

}  // namespace retrace::node::cli
