// SPDX-License-Identifier: MIT
// Files that are complete or absent after a crash: they are written beside their place, synced and renamed. This is the
// only place that does so; other code composes these functions.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace {

/// A failed file operation. The message names the path, the operation and the system's reason.
struct FileError : Error {
    int code = 0;  ///< errno; 0 if the file is not what was expected (not regular, too long).
    bool too_long = false;
};
/// Makes a FileError from errno.
Unexpected<FileError> file_error(const std::filesystem::path& path, std::string_view what);

/// A file descriptor that closes itself.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
    FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    ~FileDescriptor();

    int get() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

/// Suffix of files that are being written; leftovers of a crash may be removed.
inline constexpr std::string_view kUnfinished = ".unfinished";
/// The name under which a file is written before it is renamed to `path`. Each process has its own, so that two that
/// write the same file do not write into one another's.
std::filesystem::path unfinished_path(const std::filesystem::path& path);

/// Creates a new file for writing and reading. Anything at `path`, also a planted link, is removed instead of being
/// written through. The file gets exactly the permissions `mode`, whatever the umask.
Result<FileDescriptor, FileError> create_file(const std::filesystem::path& path, mode_t mode);

/// Writes all bytes at the file's position. False: errno holds the reason.
bool write_all(int descriptor, View bytes) noexcept;
/// Writes all bytes at `offset`. False: errno holds the reason.
bool write_all_at(int descriptor, View bytes, std::uint64_t offset) noexcept;

/// Makes new names and renames in `folder` durable. An empty path is the current folder.
Status<FileError> sync_folder(const std::filesystem::path& folder);
/// Writes `parts` in order to a file beside `path`, syncs it, renames it to `path` and syncs the folder.
Status<FileError> write_durably(const std::filesystem::path& path, std::initializer_list<View> parts,
                                mode_t mode = 0644);
/// Reads the whole regular file; a file longer than `limit` bytes is an error.
Result<Bytes, FileError> read_file(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace retrace
