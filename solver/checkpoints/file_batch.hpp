// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "merkle/base/durable_file.hpp"

namespace retrace::solver {

/// Files of one folder that become durable together: they are written under temporary names, synced and renamed, and
/// the folder is synced. After a crash each file is complete or absent. Errors carry the system's reason.
class FileBatch {
public:
    /// Up to this many files are synced one by one. For more the whole file system is synced once, at a cost that does
    /// not depend on their number but may include waiting for writes of other processes.
    static constexpr std::size_t kSyncedAlone = 16;

    /// `files`: number of files that will be added.
    FileBatch(std::filesystem::path folder, std::size_t files);
    /// Removes files that were not finished.
    ~FileBatch();
    FileBatch(const FileBatch&) = delete;
    FileBatch& operator=(const FileBatch&) = delete;

    /// Writes the file `name`, which must not be added twice.
    Status<> add(const std::string& name, std::initializer_list<View> parts);
    Status<> finish();
    /// Number of sync calls made.
    std::size_t syncs() const noexcept { return syncs_; }

private:
    Status<> sync(int fd, bool whole_file_system);

    std::filesystem::path folder_;
    bool together_;
    std::vector<std::filesystem::path> waiting_;  // Written under temporary names, not yet renamed.
    std::size_t syncs_ = 0;
};

}  // namespace retrace::solver
