// SPDX-License-Identifier: MIT
// The few file operations of the store: whole files that appear at once or not at all, and mappings.
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

/// A whole file in memory, shared with the page cache. The files of a store are ours alone, so nobody
/// truncates them.
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
    /// Waits until every page is on disk.
    Status<Failure> sync();

private:
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Writes `parts` one after the other into a file beside `path`, syncs it and renames it over `path`.
Status<Failure> write_atomically(const std::filesystem::path& path, std::initializer_list<View> parts);
/// Makes renames in `directory` durable.
Status<Failure> sync_directory(const std::filesystem::path& directory);
/// The whole file; longer than `limit`: too_large.
Result<Bytes, Failure> read_file(const std::filesystem::path& path, std::size_t limit);
/// A sparse file of `size` bytes that begins with `head`.
Status<Failure> create_sparse(const std::filesystem::path& path, View head, std::uint64_t size);
/// Reserves the blocks of [offset, offset + size), so that writing to a mapping of them cannot run out of
/// disk.
Status<Failure> reserve(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t size);
/// Bytes that an ordinary user may still write to the file system of `path`; 0 when it cannot be asked.
std::uint64_t free_bytes(const std::filesystem::path& path) noexcept;
Status<Failure> make_directory(const std::filesystem::path& path);
/// An exclusive lock, held while the File lives: in_use when another process has it.
Result<File, Failure> lock_file(const std::filesystem::path& path);

}  // namespace retrace::node
