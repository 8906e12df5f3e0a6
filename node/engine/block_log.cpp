// SPDX-License-Identifier: MIT
#include "node/engine/block_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>

#include "merkle/base/codec.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::uint8_t kMagic[8] = {'r', 't', 'r', 'c', 'b', 'l', 'k', '1'};
constexpr std::uint64_t kHeadSize = sizeof(kMagic) + 32;
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

bool write_all(int fd, View bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return true;
}

/// False also when the file ends early.
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

Bytes encode(const StoredBlock& block) {
    Writer out;
    out.u64(block.height)
        .u64(block.time)
        .raw(block.proposer)
        .u32(static_cast<std::uint32_t>(block.txs.size()));
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

/// A new file's name is only on disk once its directory is.
bool sync_directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool ok = ::fsync(fd) == 0;
    ::close(fd);
    return ok;
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
    if (log->end_ < kHeadSize) {
        // Shorter than its head: creation was interrupted, so no block was ever decided.
        RETRACE_CHECK(log->write_head(genesis_hash));
        if (!sync_directory_of(path)) return io_error(path, "cannot sync the directory");
        return log;
    }
    RETRACE_CHECK(log->check_head(genesis_hash));
    RETRACE_CHECK(log->scan(committed));
    return log;
}

BlockLog::~BlockLog() {
    ::close(fd_);
}

Status<> BlockLog::write_head(const Hash32& genesis_hash) {
    Writer head;
    head.raw(kMagic).hash(genesis_hash);
    if (::ftruncate(fd_, 0) != 0 || !write_all(fd_, head.data(), 0) || ::fsync(fd_) != 0) {
        return io_error(path_, "cannot write the block log");
    }
    end_ = kHeadSize;
    return Unit{};
}

Status<> BlockLog::check_head(const Hash32& genesis_hash) {
    std::array<std::uint8_t, kHeadSize> head{};
    if (!read_all(fd_, head, 0)) return io_error(path_, "cannot read the block log");
    if (std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
        return error(path_ + ": not a block log of this version");
    }
    if (!equal(View(head).subspan(sizeof kMagic), view(genesis_hash))) {
        return error(path_ +
                     ": the block log belongs to another chain (another genesis); use another --data-dir");
    }
    return Unit{};
}

// Only lengths are read here; each record's checksum is checked when it is read, the last one's at once.
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
    if (offsets_.size() < committed) {
        return error(path_ + ": damaged at byte " + std::to_string(at) + ": " +
                     std::to_string(offsets_.size()) + " blocks are intact, " + std::to_string(committed) +
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
    if (crc32(payload) != load_u32(head.data() + 4))
        return error(path_ + ": a record's checksum does not match");
    return payload;
}

Height BlockLog::tip() const {
    const std::lock_guard lock(mutex_);
    return offsets_.size();
}

Status<> BlockLog::append(const StoredBlock& block) {
    ensure(block.height == tip() + 1, "the block log has no gaps");
    if (failed_) return error(path_ + ": the block log failed before; restart the node");
    const Bytes payload = encode(block);
    if (payload.size() > kRecordMax) return error(path_ + ": the block is over the log's limit");
    Writer record;
    record.u32(static_cast<std::uint32_t>(payload.size())).u32(crc32(payload)).raw(payload);
    if (!write_all(fd_, record.data(), end_) || ::fdatasync(fd_) != 0) {
        failed_ = true;  // nobody knows what is on disk now
        return io_error(path_, "cannot append to the block log");
    }
    const std::lock_guard lock(mutex_);
    offsets_.push_back(end_);
    end_ += record.data().size();
    return Unit{};
}

Result<StoredBlock> BlockLog::read(Height height) const {
    std::uint64_t offset = 0;
    {
        const std::lock_guard lock(mutex_);
        if (height == 0 || height > offsets_.size()) return error(path_ + ": no such block");
        offset = offsets_[height - 1];
    }
    RETRACE_TRY(payload, read_record(offset));
    std::optional<StoredBlock> block = decode(payload);
    if (!block || block->height != height) return error(path_ + ": a record does not decode");
    return *std::move(block);
}

}  // namespace retrace::node::engine
