// SPDX-License-Identifier: MIT
#include "node/cli/key_options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "ledger/crypto/eip55.hpp"
#include "node/cli/cli.hpp"
#include "node/dev_chain.hpp"
#include "node/wallet/key_folder.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {

void add_keys_option(CLI::App& command, std::string& keys) {
    keys = wallet::KeyFolder::default_path();
    command.add_option("--keys", keys, "Folder of keystore files (" + keys + ")");
}

void add_node_option(CLI::App& command, std::string& url) {
    url = "http://127.0.0.1:8545";
    command.add_option("--node", url, "JSON-RPC of a node (" + url + ")");
    const auto file = std::make_shared<std::string>(), fingerprint = std::make_shared<std::string>();
    auto* ca = command.add_option("--tls-ca", *file, "Authorities of an https node, PEM; without it the system's");
    command.add_option("--tls-fingerprint", *fingerprint, "SHA-256 of an https node's certificate, as it prints it")
        ->excludes(ca);
    // They join the address as parse_url reads it, so that whoever is given it knows whom to trust.
    command.parse_complete_callback([&url, file, fingerprint] {
        if (!file->empty()) url += "#ca=" + *file;
        if (!fingerprint->empty()) url += "#sha256=" + *fingerprint;
    });
}

void KeyOptions::add_to(CLI::App& command) {
    command.add_option("--key", key, "Keystore file, or an address of the folder of keys");
    add_keys_option(command, keys);
    command.add_option("--passphrase-file", passphrase_file, "File whose first line unlocks the key");
    command
        .add_option("--dev-account", dev_account,
                    "Use account N (0-9) of the developer chain's published mnemonic")
        ->check(CLI::Range(0U, kDevAccounts - 1));
}

Result<ledger::SecretKey> KeyOptions::load() const {
    if (dev_account) return wallet::account_key(kDevMnemonic, "", *dev_account);
    if (key.empty()) return error("name a key: --key FILE, --key ADDRESS or --dev-account N");
    std::string path = key;
    if (ledger::parse_address(key)) {
        RETRACE_TRY(address, typed_address(key));
        const auto found = wallet::KeyFolder(keys).find(address);
        if (!found)
            return error("the folder " + keys + " has no key of " + key + "; see retrace wallet list");
        path = *found;
    } else if (!std::filesystem::exists(path)) {
        return error("no such keystore file: " + path);
    }
    RETRACE_TRY(passphrase, read_passphrase(passphrase_file, "passphrase of " + path));
    return wallet::unlock(path, passphrase);
}

Result<ledger::Address> typed_address(const std::string& text) {
    const auto address = ledger::parse_address(text);
    if (!address) return error("not an address (\"0x\" and 40 hex digits): " + text);
    if (!ledger::checksum_holds(text))
        return error("the address is mistyped, its EIP-55 checksum fails: " + text);
    return *address;
}

}  // namespace retrace::node::cli
