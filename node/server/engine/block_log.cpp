// SPDX-License-Identifier: MIT
#include "node/server/engine/block_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>

#include "merkle/base/codec.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/data_dir.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::uint8_t kMagic[8] = {'r', 't', 'r', 'c', 'b', 'l', 'k', '2'};
constexpr std::uint64_t kHeadSize = sizeof(kMagic) + 32 + 8;
constexpr std::uint64_t kRecordHead = 8;
constexpr std::size_t kTxsMax = 1'000'000;

Unexpected<Error> io_error(const std::string& path, const char* what) {
    return error(path + ": " + what + ": " + std::strerror(errno));
}

std::uint32_t crc32(View bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

/// Reads exactly `out.size()` bytes; returns false also if the file ends early.
bool read_all(int fd, std::span<std::uint8_t> out, std::uint64_t offset) {
    while (!out.empty()) {
        const ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        out = out.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return true;
}

/// Copies the bytes [from, to) of `source` to offset `at` of `target`.
bool copy(int source, std::uint64_t from, std::uint64_t to, int target, std::uint64_t at) {
    Bytes buffer(std::size_t{1} << 20);
    while (from < to) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), to - from));
        const std::span<std::uint8_t> part(buffer.data(), size);
        if (!read_all(source, part, from) || !write_all_at(target, part, at)) return false;
        from += size;
        at += size;
    }
    return true;
}

Bytes encode(const StoredBlock& block) {
    Writer out;
    out.u64(block.height).u64(block.time).raw(block.proposer).u32(static_cast<std::uint32_t>(block.txs.size()));
    for (const Bytes& tx : block.txs) out.bytes(tx);
    return std::move(out).take();
}

std::optional<StoredBlock> decode(View bytes) {
    Reader in(bytes);
    StoredBlock block;
    block.height = in.u64();
    block.time = in.u64();
    const View proposer = in.raw(block.proposer.size());
    if (in.ok()) std::copy(proposer.begin(), proposer.end(), block.proposer.begin());
    const std::uint32_t count = in.count(kTxsMax, 4);
    block.txs.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) block.txs.push_back(to_bytes(in.bytes(BlockLog::kRecordMax)));
    if (!in.finish()) return std::nullopt;
    return block;
}

}  // namespace

Result<std::unique_ptr<BlockLog>> BlockLog::open(const std::string& path, const Hash32& genesis_hash,
                                                 Height committed) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return io_error(path, "cannot open the block log");
    std::unique_ptr<BlockLog> log(new BlockLog(fd, path));
    struct stat info {};
    if (::fstat(fd, &info) != 0) return io_error(path, "cannot read the block log's size");
    log->end_ = static_cast<std::uint64_t>(info.st_size);
    log->genesis_hash_ = genesis_hash;
    if (log->end_ < kHeadSize) {
        // A file shorter than its head was interrupted during creation, so it never held a block.
        RETRACE_CHECK(log->write_head(genesis_hash, committed));
        RETRACE_CHECK(sync_folder(std::filesystem::path(path).parent_path()));
        return log;
    }
    RETRACE_CHECK(log->check_head(genesis_hash));
    RETRACE_CHECK(log->scan(committed));
    return log;
}

Result<Height> BlockLog::verify(const std::string& path, const Hash32& genesis_hash, Height committed) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error(path, "cannot open the block log");
    BlockLog log(fd, path);
    struct stat info {};
    if (::fstat(fd, &info) != 0) return io_error(path, "cannot read the block log's size");
    const auto size = static_cast<std::uint64_t>(info.st_size);
    RETRACE_CHECK(log.check_head(genesis_hash));
    Height height = log.base_;
    for (std::uint64_t at = kHeadSize; size - at >= kRecordHead;) {
        const std::string where = " of block " + std::to_string(height + 1) + " at byte " + std::to_string(at);
        std::array<std::uint8_t, kRecordHead> head{};
        if (!read_all(fd, head, at)) return io_error(path, "cannot read the block log");
        const std::uint64_t length = load_u32(head.data());
        if (length > size - at - kRecordHead && height >= committed) break;  // cut off before it was executed
        if (length == 0 || length > kRecordMax || length > size - at - kRecordHead)
            return error(path + ": the length of the record" + where + " is damaged; restore the file");
        const auto payload = log.read_record(at);
        const auto block = payload ? decode(*payload) : std::nullopt;
        const bool last = at + kRecordHead + length == size;
        if (!block && last && height >= committed) break;
        if (!block) return error(path + ": the record" + where + " is damaged; restore the file");
        if (block->height != height + 1)
            return error(path + ": the record" + where + " is that of block " + std::to_string(block->height) +
                         "; restore the file");
        ++height;
        at += kRecordHead + length;
    }
    if (log.base_ > committed || height < committed)
        return error(path + ": has blocks " + std::to_string(log.base_ + 1) + " to " + std::to_string(height) +
                     ", and " + std::to_string(committed) + " were executed; restore the file");
    return height;
}

BlockLog::~BlockLog() { ::close(fd_); }

Bytes BlockLog::head(const Hash32& genesis_hash, Height base) {
    Writer out;
    out.raw(kMagic).hash(genesis_hash).u64(base);
    return std::move(out).take();
}

Status<> BlockLog::write_head(const Hash32& genesis_hash, Height base) {
    if (::ftruncate(fd_, 0) != 0 || !write_all_at(fd_, head(genesis_hash, base), 0) || ::fsync(fd_) != 0) {
        return io_error(path_, "cannot write the block log");
    }
    base_ = base;
    end_ = kHeadSize;
    return Unit{};
}

Status<> BlockLog::check_head(const Hash32& genesis_hash) {
    std::array<std::uint8_t, kHeadSize> head{};
    if (!read_all(fd_, head, 0)) return io_error(path_, "cannot read the block log");
    if (std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
        return error(path_ + ": not a block log of this version");
    }
    if (!equal(View(head).subspan(sizeof kMagic, 32), view(genesis_hash))) {
        return error(path_ + ": the block log belongs to another chain (another genesis); use another --data-dir");
    }
    base_ = load_u64(head.data() + sizeof kMagic + 32);
    return Unit{};
}

// Reads only the record lengths. The checksum of the last record is checked here, the others when they are read.
Status<> BlockLog::scan(Height committed) {
    const std::uint64_t size = end_;
    std::uint64_t at = kHeadSize;
    while (size - at >= kRecordHead) {
        std::array<std::uint8_t, kRecordHead> head{};
        if (!read_all(fd_, head, at)) return io_error(path_, "cannot read the block log");
        const std::uint64_t length = load_u32(head.data());
        if (length == 0 || length > kRecordMax || length > size - at - kRecordHead) break;
        offsets_.push_back(at);
        at += kRecordHead + length;
    }
    if (at == size && !offsets_.empty() && !read_record(offsets_.back())) {
        at = offsets_.back();
        offsets_.pop_back();
    }
    if (base_ > committed) {
        return error(path_ + ": begins after block " + std::to_string(base_) + ", and only " +
                     std::to_string(committed) + " were executed; restore the database");
    }
    if (base_ + offsets_.size() < committed) {
        return error(path_ + ": damaged at byte " + std::to_string(at) + ": " +
                     std::to_string(base_ + offsets_.size()) + " blocks are intact, " + std::to_string(committed) +
                     " were executed; restore the file");
    }
    torn_bytes_ = size - at;
    end_ = at;
    if (torn_bytes_ != 0 && (::ftruncate(fd_, static_cast<off_t>(at)) != 0 || ::fsync(fd_) != 0)) {
        return io_error(path_, "cannot cut off the torn record");
    }
    return Unit{};
}

Result<Bytes> BlockLog::read_record(std::uint64_t offset) const {
    std::array<std::uint8_t, kRecordHead> head{};
    if (!read_all(fd_, head, offset)) return io_error(path_, "cannot read the block log");
    const std::uint32_t length = load_u32(head.data());
    if (length > kRecordMax) return error(path_ + ": a record is damaged");
    Bytes payload(length);
    if (!read_all(fd_, payload, offset + kRecordHead)) return io_error(path_, "cannot read the block log");
    if (crc32(payload) != load_u32(head.data() + 4)) return error(path_ + ": a record's checksum does not match");
    return payload;
}

Height BlockLog::tip() const {
    const std::lock_guard lock(mutex_);
    return base_ + offsets_.size();
}

Height BlockLog::base() const {
    const std::lock_guard lock(mutex_);
    return base_;
}

Status<> BlockLog::append(const StoredBlock& block) {
    ensure(block.height == tip() + 1, "the block log has no gaps");
    if (failed_) return error(path_ + ": the block log failed before; restart the node");
    const Bytes payload = encode(block);
    if (payload.size() > kRecordMax) return error(path_ + ": the block is over the log's limit");
    Writer record;
    record.u32(static_cast<std::uint32_t>(payload.size())).u32(crc32(payload)).raw(payload);
    if (!write_all_at(fd_, record.data(), end_) || ::fdatasync(fd_) != 0) {
        failed_ = true;  // the content on disk is unknown now
        return io_error(path_, "cannot append to the block log");
    }
    const std::lock_guard lock(mutex_);
    offsets_.push_back(end_);
    end_ += record.data().size();
    return Unit{};
}

Result<StoredBlock> BlockLog::read(Height height) const {
    const std::lock_guard lock(mutex_);
    if (height <= base_ || height > base_ + offsets_.size()) return error(path_ + ": no such block");
    RETRACE_TRY(payload, read_record(offsets_[height - base_ - 1]));
    std::optional<StoredBlock> block = decode(payload);
    if (!block || block->height != height) return error(path_ + ": a record does not decode");
    return *std::move(block);
}

Status<> BlockLog::prune_below(Height first) {
    const std::lock_guard lock(mutex_);
    ensure(first <= base_ + offsets_.size() + 1, "future blocks cannot be pruned");
    if (first <= base_ + 1) return Unit{};
    const auto gone = static_cast<std::ptrdiff_t>(first - base_ - 1);
    const std::uint64_t start = static_cast<std::size_t>(gone) < offsets_.size() ? offsets_[gone] : end_;
    const std::string beside = path_ + ".new";
    const int fd = ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return io_error(beside, "cannot write the block log");
    if (!write_all_at(fd, head(genesis_hash_, first - 1), 0) || !copy(fd_, start, end_, fd, kHeadSize) ||
        ::fsync(fd) != 0 || ::rename(beside.c_str(), path_.c_str()) != 0) {
        const auto failed = io_error(path_, "cannot shorten the block log");
        ::close(fd);
        ::unlink(beside.c_str());  // the copy may be filling the disk
        return failed;
    }
    ::close(fd_);
    fd_ = fd;
    offsets_.erase(offsets_.begin(), offsets_.begin() + gone);
    for (std::uint64_t& offset : offsets_) offset -= start - kHeadSize;
    end_ -= start - kHeadSize;
    base_ = first - 1;
    if (const auto synced = sync_folder(std::filesystem::path(path_).parent_path()); !synced) {
        failed_ = true;  // After a crash the old file may reappear, without later appends.
        return Unexpected{synced.error()};
    }
    return Unit{};
}

}  // namespace retrace::node::engine
