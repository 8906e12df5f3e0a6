// SPDX-License-Identifier: MIT
// File operations of the artifact store beside those of merkle/base/durable_file.hpp: mappings, sparse files, locks.
#pragma once

#include <sys/statvfs.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "merkle/base/durable_file.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// A memory mapping of a whole file, shared with the page cache. Only this process uses the store's files, so they are
/// never truncated while mapped.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    /// An empty file maps to an empty view.
    static Result<Mapping, Failure> open(const std::filesystem::path& path, bool writable);

    View bytes() const noexcept { return {data_, size_}; }
    std::uint8_t* data() noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    /// Returns once every page is on disk.
    Status<Failure> sync();

private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Creates a sparse file of `size` bytes that begins with `head`.
Status<Failure> create_sparse(const std::filesystem::path& path, View head, std::uint64_t size);
/// Allocates the disk blocks of [offset, offset + size), so that a write to a mapping of them cannot run out of space.
Status<Failure> reserve(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t size);

/// Bytes and inodes of a file system. Every file takes one inode, so a disk can be full while bytes are free.
struct DiskSpace {
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;  ///< UINT64_MAX if the file system makes inodes as it needs them.
};
/// Free bytes and inodes for unprivileged users. A file system that reports no inodes at all, like btrfs, makes them as
/// it needs them.
DiskSpace free_space(const struct statvfs& info) noexcept;
/// The same for the file system of `path`; nothing is free if that cannot be determined.
DiskSpace free_space(const std::filesystem::path& path) noexcept;
/// no_space if writing `bytes` for `what` on the file system of `path` would leave less than `rest` free.
Status<Failure> check_disk(const std::filesystem::path& path, const DiskSpace& rest, std::uint64_t bytes,
                           const std::string& what);
Status<Failure> make_directory(const std::filesystem::path& path);
/// Takes an exclusive lock, held for the lifetime of the descriptor; in_use if another process holds it.
Result<FileDescriptor, Failure> lock_file(const std::filesystem::path& path);

}  // namespace retrace::node
