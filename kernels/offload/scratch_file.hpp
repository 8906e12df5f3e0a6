// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::kernels {

inline constexpr std::uint64_t kDiskBlock = 4096;  ///< Alignment of addresses, offsets and sizes.

/// A file without a name, which is gone when it is closed or the process dies. It bypasses the page cache where the file
/// system allows it, so that a transfer is one to or from the disk and takes no other memory. Errors end with
/// `(disk_full)`, `(disk_failed)` or `(damaged)`.
class ScratchFile {
public:
    /// Creates it in `folder`, without contents.
    static Result<ScratchFile> open(const std::filesystem::path& folder);
    /// The same, with all of its `bytes` allocated.
    static Result<ScratchFile> open(const std::filesystem::path& folder, std::uint64_t bytes);
    /// Allocates all of a file without contents.
    Status<> allocate(std::uint64_t bytes);
    ScratchFile(ScratchFile&& other) noexcept;
    ScratchFile& operator=(ScratchFile&& other) noexcept;
    ~ScratchFile();

    /// Whether it bypasses the page cache.
    bool direct() const noexcept { return direct_; }
    Status<> write(std::uint64_t at, const std::uint8_t* from, std::uint64_t bytes);
    /// Reads what one `write` wrote at `at`. Each mebibyte is compared with its checksum, because a wrong bit of a disk
    /// would cost a solver its stake.
    Status<> read(std::uint64_t at, std::uint8_t* to, std::uint64_t bytes) const;

private:
    explicit ScratchFile(int file) : file_(file) {}

    int file_ = -1;
    bool direct_ = false;
    std::map<std::uint64_t, std::uint64_t> sums_;  ///< By offset: the checksum of the piece that begins there.
};

/// Where scratch files are made.
class ScratchFolder {
public:
    /// Makes them in `folder` when they are asked for.
    ScratchFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
    /// Opens `count` files now, for a process that gives up the right to open any; further ones are an error.
    static Result<ScratchFolder> opened(const std::filesystem::path& folder, std::size_t count);

    const std::filesystem::path& path() const noexcept { return folder_; }
    Result<ScratchFile> make(std::uint64_t bytes);

private:
    std::filesystem::path folder_;
    std::shared_ptr<std::vector<ScratchFile>> opened_;  ///< Null: none but those that are asked for.
};

/// Whether the files of a folder are in memory (tmpfs, ramfs), so that offloading to them saves none.
bool is_in_memory(const std::filesystem::path& folder);

}  // namespace retrace::kernels
