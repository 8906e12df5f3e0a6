// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::solver {

/// Suffix of files that are being written; a leftover is garbage.
inline constexpr std::string_view kUnfinished = ".unfinished";

/// Files of one folder that become durable together: written aside, synced, renamed, and the folder synced. After a
/// crash each holds all of its parts or is not there. Errors carry the system's reason.
class FileBatch {
public:
    /// So many are synced one by one; of more the whole file system is synced at once, which costs the same for any
    /// number of them, but may wait for what others wrote.
    static constexpr std::size_t kSyncedAlone = 16;

    /// `files`: how many are to come.
    FileBatch(std::filesystem::path folder, std::size_t files);
    /// What was not finished is removed.
    ~FileBatch();
    FileBatch(const FileBatch&) = delete;
    FileBatch& operator=(const FileBatch&) = delete;

    /// `name` in the folder, not twice.
    Status<> add(const std::string& name, std::initializer_list<View> parts);
    Status<> finish();
    /// Times that something was synced.
    std::size_t syncs() const noexcept { return syncs_; }

private:
    Status<> sync(int fd, bool whole_file_system);

    std::filesystem::path folder_;
    bool together_;
    std::vector<std::filesystem::path> waiting_;  // Written aside.
    std::size_t syncs_ = 0;
};

/// One file, durable when it returns.
Status<> write_durably(const std::filesystem::path& path, std::initializer_list<View> parts);
/// The whole file; longer than `limit`: an error.
Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace retrace::solver
