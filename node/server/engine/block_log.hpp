// SPDX-License-Identifier: MIT
// The solo engine's write-ahead log of decided blocks: a block is on disk before it is executed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

/// File format: 8 bytes magic, 32 bytes genesis hash, u64 base, then records of u32 payload length, u32 CRC-32 of the
/// payload, payload (all little endian). Heights run from base + 1 without gaps. One writer; `read` may be called from
/// any thread.
class BlockLog {
public:
    static constexpr std::size_t kRecordMax = std::size_t{64} << 20;

    /// Opens or creates the file. Cuts off a torn last record; that is safe, because a block is executed only after
    /// `append` returned. `committed` is the height that the application has executed: a file that ends before it is
    /// damaged, which is an Error, and nothing is cut. A new file begins after `committed`, because a chain that was
    /// imported from a snapshot has no earlier blocks.
    static Result<std::unique_ptr<BlockLog>> open(const std::string& path, const Hash32& genesis_hash,
                                                  Height committed);
    /// Reads every record of the file and changes nothing: checksums, and that heights have no gaps and reach
    /// `committed`. A last record that was cut off in a crash is no error. Returns the height of the last block.
    static Result<Height> verify(const std::string& path, const Hash32& genesis_hash, Height committed);
    ~BlockLog();
    BlockLog(const BlockLog&) = delete;
    BlockLog& operator=(const BlockLog&) = delete;

    Height tip() const;
    /// `read` finds heights from base() + 1 on.
    Height base() const;
    /// Bytes that were cut off when the file was opened.
    std::uint64_t torn_bytes() const noexcept { return torn_bytes_; }
    /// Writes and syncs. `block.height` is tip + 1 (asserted). After a failed write every later append fails.
    Status<> append(const StoredBlock& block);
    Result<StoredBlock> read(Height height) const;
    /// Deletes the blocks below `first` (at most tip + 1, asserted). Copies the rest to a new file and renames it, so a
    /// crash leaves the old file or the new one. If that fails, the old file stays in use, the copy is deleted and the
    /// call may be repeated. If the directory cannot be synced afterwards, later appends fail.
    Status<> prune_below(Height first);

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
    std::vector<std::uint64_t> offsets_;  // offset of the record of `height` at [height - base - 1]
    std::uint64_t end_ = 0;
    std::uint64_t torn_bytes_ = 0;
    bool failed_ = false;
};

}  // namespace retrace::node::engine
