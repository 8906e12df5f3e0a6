// SPDX-License-Identifier: MIT
// A folder of keystore files, one for each account, mode 0600.
#pragma once

#include <string>
#include <vector>

#include "node/wallet/keystore.hpp"

namespace retrace::node::wallet {

struct KeyFile {
    std::string path;
    std::optional<ledger::Address> address;  ///< None where the file does not say: known once it is opened.
};

class KeyFolder {
public:
    explicit KeyFolder(std::string path) : path_(std::move(path)) {}
    /// ~/.retrace/keys; the current folder's .retrace/keys when there is no home.
    static std::string default_path();

    /// Files that are keystores, sorted by address, those without one last. A folder that is not there holds
    /// none.
    std::vector<KeyFile> list() const;
    /// Encrypts and writes; an account that is there already is an Error. Returns the file's path.
    Result<std::string> add(const ledger::SecretKey& key, std::string_view passphrase,
                            const ledger::ScryptParams& params) const;
    /// The file that says this address; nullopt when none does.
    std::optional<std::string> find(const ledger::Address& address) const;

private:
    std::string path_;
};

/// Reads and decrypts one file.
Result<ledger::SecretKey> unlock(const std::string& path, std::string_view passphrase);

}  // namespace retrace::node::wallet
