// SPDX-License-Identifier: MIT
// File operations of the artifact store beside those of merkle/base/durable_file.hpp: mappings, sparse files, locks.
#pragma once

#include <filesystem>
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
/// Free bytes for unprivileged users on the file system of `path`; 0 if they cannot be determined.
std::uint64_t free_bytes(const std::filesystem::path& path) noexcept;
Status<Failure> make_directory(const std::filesystem::path& path);
/// Takes an exclusive lock, held for the lifetime of the descriptor; in_use if another process holds it.
Result<FileDescriptor, Failure> lock_file(const std::filesystem::path& path);

}  // namespace retrace::node
