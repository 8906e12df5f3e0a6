// SPDX-License-Identifier: MIT
// The solo engine's file of decided blocks: what was decided is on disk before it is executed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/engine/engine.hpp"

namespace retrace::node::engine {

/// File: 8 bytes magic, 32 bytes genesis hash, then records of u32 payload length, u32 CRC-32 of the payload,
/// payload (all little endian). Heights run from 1 without gaps. One writer; `read` may be called from any
/// thread.
class BlockLog {
public:
    static constexpr std::size_t kRecordMax = std::size_t{64} << 20;

    /// Opens or creates the file. What a crash left of the last append is cut off: nobody was told of it,
    /// because execution starts only after `append` returned. `committed` is the height that the application
    /// has executed; a file that holds fewer intact blocks is damaged: an Error, and nothing is cut.
    static Result<std::unique_ptr<BlockLog>> open(const std::string& path, const Hash32& genesis_hash,
                                                  Height committed);
    ~BlockLog();
    BlockLog(const BlockLog&) = delete;
    BlockLog& operator=(const BlockLog&) = delete;

    Height tip() const;
    /// Bytes that were cut off when the file was opened.
    std::uint64_t torn_bytes() const noexcept { return torn_bytes_; }
    /// Writes and syncs. `block.height` is tip + 1 (asserted). After an Error the log takes nothing more.
    Status<> append(const StoredBlock& block);
    Result<StoredBlock> read(Height height) const;

private:
    BlockLog(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    Status<> write_head(const Hash32& genesis_hash);
    Status<> check_head(const Hash32& genesis_hash);
    Status<> scan(Height committed);
    Result<Bytes> read_record(std::uint64_t offset) const;

    int fd_;
    std::string path_;
    mutable std::mutex mutex_;            // guards offsets_ and end_
    std::vector<std::uint64_t> offsets_;  // of record height - 1
    std::uint64_t end_ = 0;
    std::uint64_t torn_bytes_ = 0;
    bool failed_ = false;
};

}  // namespace retrace::node::engine
