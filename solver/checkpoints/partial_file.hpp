// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <limits>
#include <span>

#include "merkle/base/durable_file.hpp"
#include "solver/checkpoints/sealed_file.hpp"

namespace retrace::solver {

/// A file of a checkpoint store that is read in parts. In a sealed one only the chunks that hold the requested bytes
/// are decrypted; the last of them stays in memory, so that ascending reads decrypt each once. Not thread-safe.
class PartialFile {
public:
    /// `seal` outlives the file; null: a plain file.
    static Result<PartialFile, StoreProblem> open(const std::filesystem::path& path, const Seal* seal);

    /// Bytes of the plain text.
    std::uint64_t size() const noexcept { return size_; }
    /// Reads out.size() bytes from `at` on; damaged if the file is shorter, or a chunk does not decrypt.
    Status<StoreProblem> read(std::uint64_t at, std::span<std::uint8_t> out);

private:
    PartialFile() = default;
    Result<Bytes> read_stored(std::uint64_t at, std::uint64_t size) const;
    Status<StoreProblem> need_chunk(std::uint64_t index);

    std::filesystem::path path_;
    const Seal* seal_ = nullptr;
    FileDescriptor file_;
    std::uint64_t stored_ = 0, size_ = 0;
    std::uint64_t index_ = std::numeric_limits<std::uint64_t>::max();  ///< Index of the chunk in memory.
    Bytes chunk_;
};

}  // namespace retrace::solver
