// SPDX-License-Identifier: MIT
// The data directory of a node: LOCK, genesis (encoded), blocks.log, db/, pool (queued transactions of the last run).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ledger/chain/genesis.hpp"

namespace retrace::node {

/// Holds an exclusive lock on the folder for its lifetime: a second process cannot open it.
class DataDir {
public:
    /// Creates the folder (mode 0700) if it does not exist.
    static Result<std::unique_ptr<DataDir>> open(const std::string& path);
    ~DataDir();
    DataDir(const DataDir&) = delete;
    DataDir& operator=(const DataDir&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    /// The genesis that this folder was created with; nullopt in a new folder.
    Result<std::optional<ledger::Genesis>> genesis() const;
    Status<> keep_genesis(const ledger::Genesis& genesis) const;

private:
    DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
    std::string path_;
    int lock_;
};

/// Creates the folder (mode 0700) and missing parents. Removes the access of others to an existing folder, because
/// earlier versions left it open.
Status<> make_private_folder(const std::string& path);
/// Removes all permissions of group and others from a file or folder; an Error that names it if that fails. Only for
/// this program's own files: files that it merely reads may be shared on purpose.
Status<> close_to_others(const std::string& path);
/// Checks a secret that is only read: returns a warning that names it if others may access it. Group access is allowed.
std::optional<std::string> warning_if_open(const std::string& path);

}  // namespace retrace::node
