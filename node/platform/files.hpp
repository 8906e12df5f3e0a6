// SPDX-License-Identifier: MIT
// File operations of the artifact store: atomic writes, memory mappings, locks.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "merkle/base/bytes.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// A file descriptor that closes itself.
class File {
public:
    File() = default;
    explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
    File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    File& operator=(File&& other) noexcept;
    ~File();

    int get() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

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

/// Writes `parts` in order to a temporary file beside `path`, syncs it and renames it to `path`.
Status<Failure> write_atomically(const std::filesystem::path& path, std::initializer_list<View> parts);
/// Makes renames in `directory` durable.
Status<Failure> sync_directory(const std::filesystem::path& directory);
/// Reads the whole file; too_large if it is longer than `limit`.
Result<Bytes, Failure> read_file(const std::filesystem::path& path, std::size_t limit);
/// Creates a sparse file of `size` bytes that begins with `head`.
Status<Failure> create_sparse(const std::filesystem::path& path, View head, std::uint64_t size);
/// Allocates the disk blocks of [offset, offset + size), so that a write to a mapping of them cannot run out of space.
Status<Failure> reserve(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t size);
/// Free bytes for unprivileged users on the file system of `path`; 0 if they cannot be determined.
std::uint64_t free_bytes(const std::filesystem::path& path) noexcept;
Status<Failure> make_directory(const std::filesystem::path& path);
/// Takes an exclusive lock, held for the lifetime of the File; in_use if another process holds it.
Result<File, Failure> lock_file(const std::filesystem::path& path);

}  // namespace retrace::node
