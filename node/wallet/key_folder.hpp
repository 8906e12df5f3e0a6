// SPDX-License-Identifier: MIT
// A folder of keystore files, one for each account, mode 0600.
#pragma once

#include <string>
#include <vector>

#include "node/wallet/keystore.hpp"

namespace retrace::node::wallet {

struct KeyFile {
    std::string path;
    std::optional<ledger::Address> address;  ///< None if the file does not name it: known only after decryption.
};

class KeyFolder {
public:
    explicit KeyFolder(std::string path) : path_(std::move(path)) {}
    /// Returns ~/.retrace/keys, or .retrace/keys in the current folder if there is no home.
    static std::string default_path();

    /// Returns the keystore files sorted by address, those without an address last. A missing folder counts as empty.
    std::vector<KeyFile> list() const;
    /// Encrypts and writes a key; fails if its account is already in the folder. Returns the file's path.
    Result<std::string> add(const ledger::SecretKey& key, std::string_view passphrase,
                            const ledger::ScryptParams& params) const;
    /// Returns the file that names this address; nullopt if there is none.
    std::optional<std::string> find(const ledger::Address& address) const;

private:
    std::string path_;
};

/// Returns the address that a keystore file names, without decrypting it; nullopt if it names none or cannot be read.
std::optional<ledger::Address> address_in(const std::string& path);
/// Reads and decrypts one file.
Result<ledger::SecretKey> unlock(const std::string& path, std::string_view passphrase);

}  // namespace retrace::node::wallet
