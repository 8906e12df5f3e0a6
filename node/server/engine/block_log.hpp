// SPDX-License-Identifier: MIT
// The solo engine's file of decided blocks: what was decided is on disk before it is executed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

/// File: 8 bytes magic, 32 bytes genesis hash, u64 base, then records of u32 payload length, u32 CRC-32 of
/// the payload, payload (all little endian). Heights run from base + 1 without gaps. One writer; `read` may
/// be called from any thread.
class BlockLog {
public:
    static constexpr std::size_t kRecordMax = std::size_t{64} << 20;

    /// Opens or creates the file. What a crash left of the last append is cut off: nobody was told of it,
    /// because execution starts only after `append` returned. `committed` is the height that the application
    /// has executed; a file that ends before it is damaged: an Error, and nothing is cut. A new file begins
    /// after `committed`: a chain that came from a snapshot has no blocks before it.
    static Result<std::unique_ptr<BlockLog>> open(const std::string& path, const Hash32& genesis_hash,
                                                  Height committed);
    ~BlockLog();
    BlockLog(const BlockLog&) = delete;
    BlockLog& operator=(const BlockLog&) = delete;

    Height tip() const;
    /// The lowest height that `read` finds is the one after it.
    Height base() const;
    /// Bytes that were cut off when the file was opened.
    std::uint64_t torn_bytes() const noexcept { return torn_bytes_; }
    /// Writes and syncs. `block.height` is tip + 1 (asserted). After an Error the log takes nothing more.
    Status<> append(const StoredBlock& block);
    Result<StoredBlock> read(Height height) const;
    /// Forgets the blocks below `first` (at most tip + 1, asserted). Copies the rest and renames, so a crash
    /// leaves the old file or the new one; after an Error the old one is still in use, and nothing stays
    /// beside it. It may be tried again.
    Status<> forget_below(Height first);

private:
    BlockLog(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    static Bytes head(const Hash32& genesis_hash, Height base);
    Status<> write_head(const Hash32& genesis_hash, Height base);
    Status<> check_head(const Hash32& genesis_hash);
    Status<> scan(Height committed);
    Result<Bytes> read_record(std::uint64_t offset) const;

    int fd_;
    std::string path_;
    Hash32 genesis_hash_;
    mutable std::mutex mutex_;  // guards fd_, base_, offsets_ and end_
    Height base_ = 0;
    std::vector<std::uint64_t> offsets_;  // of record height - base - 1
    std::uint64_t end_ = 0;
    std::uint64_t torn_bytes_ = 0;
    bool failed_ = false;
};

}  // namespace retrace::node::engine
