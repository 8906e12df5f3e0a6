// SPDX-License-Identifier: MIT
// The folder of one node: LOCK, genesis (encoded), blocks.log, db/, pool (queued transactions of the last
// run).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ledger/chain/genesis.hpp"

namespace retrace::node {

/// Owns the folder for as long as it lives: a second process is refused.
class DataDir {
public:
    /// Creates the folder (mode 0700) when it is not there.
    static Result<std::unique_ptr<DataDir>> open(const std::string& path);
    ~DataDir();
    DataDir(const DataDir&) = delete;
    DataDir& operator=(const DataDir&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    /// The genesis that this folder was begun with; nullopt in a new folder.
    Result<std::optional<ledger::Genesis>> genesis() const;
    Status<> keep_genesis(const ledger::Genesis& genesis) const;

private:
    DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
    std::string path_;
    int lock_;
};

/// Whole file; nullopt when it cannot be read or holds more than `limit` bytes.
std::optional<Bytes> read_file(const std::string& path, std::size_t limit);
/// Writes beside and renames, so that readers see the old or the new file and nothing between; after it
/// returned the new one survives any crash. `mode` as in chmod.
Status<> write_file(const std::string& path, View bytes, unsigned mode);
/// A file's name is only on disk once its directory is. False with errno.
bool sync_directory_of(const std::string& path);
/// Makes the folder and those above it where they are not there, and closes it to everybody but its owner
/// (0700), also one that an earlier version left open.
Status<> make_private_folder(const std::string& path);
/// Takes a file or folder from its group and from everybody else; an Error that names it where that cannot be
/// done. Of what is this program's own: what it only reads may be shared on purpose.
Status<> close_to_others(const std::string& path);
/// Of a secret that is only read: a sentence that names it when everybody may read or change it. A group may.
std::optional<std::string> warning_if_open(const std::string& path);

}  // namespace retrace::node
