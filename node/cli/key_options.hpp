// SPDX-License-Identifier: MIT
// The options by which every command that signs names its key.
#pragma once

#include <optional>
#include <string>

#include "ledger/crypto/secp256k1.hpp"
#include "merkle/base/result.hpp"

namespace CLI {
class App;
}

namespace retrace::node::cli {

struct KeyOptions {
    std::string key;              ///< --key: a keystore file, or an address of the folder of keys.
    std::string keys;             ///< --keys: that folder.
    std::string passphrase_file;  ///< --passphrase-file; empty: prompt.
    std::optional<std::uint32_t> dev_account;  ///< --dev-account: 0–9 of the developers' mnemonic.

    /// The options outlive the parsing.
    void add_to(CLI::App& command);
    Result<ledger::SecretKey> load() const;
};

/// Adds --keys alone, with its default.
void add_keys_option(CLI::App& command, std::string& keys);
/// Adds --node, with its default, and --tls-ca and --tls-fingerprint, which `url` carries as its fragment.
void add_node_option(CLI::App& command, std::string& url);

/// An address as people type it: a mixed letter case must fit EIP-55, because otherwise a digit is wrong.
Result<ledger::Address> typed_address(const std::string& text);

}  // namespace retrace::node::cli
