// SPDX-License-Identifier: MIT
// The data directory of a node: LOCK, genesis (encoded), blocks.log, db/, pool (queued transactions of the last run),
// auctions/ (how each auction ended).
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

}  // namespace retrace::node
