// SPDX-License-Identifier: MIT
#include "ledger/mempool/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "ledger/crypto/keccak.hpp"
#include "merkle/base/durable_file.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kHeader = 8;           // length u32, first four bytes of the transaction's hash
constexpr std::uint32_t kGone = 0xffffffff;  // in place of a length: the hash of a dropped transaction follows
constexpr std::size_t kSlack = 4U << 20;
constexpr unsigned kPauseMax = 1024;
constexpr int kOpenFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;
constexpr mode_t kOwnerOnly = 0600;

Unexpected<Error> failed(const std::string& path, const char* what) {
    return error("mempool journal " + path + ": " + what + ": " + std::strerror(errno));
}

void append_record(Bytes& out, const SignedTx& tx) {
    const std::size_t at = out.size();
    out.resize(at + kHeader);
    store_u32(out.data() + at, static_cast<std::uint32_t>(tx.raw.size()));
    std::memcpy(out.data() + at + 4, tx.hash.data(), 4);
    out.insert(out.end(), tx.raw.begin(), tx.raw.end());
}

void append_gone(Bytes& out, const Hash32& hash) {
    const std::size_t at = out.size();
    out.resize(at + kHeader);
    store_u32(out.data() + at, kGone);
    std::memcpy(out.data() + at + 4, keccak256(view(hash)).data(), 4);
    out.insert(out.end(), hash.bytes.begin(), hash.bytes.end());
}

Bytes read_up_to(int file, std::size_t limit) {
    Bytes out;
    struct stat info {};
    if (::fstat(file, &info) != 0) return out;
    out.resize(std::min(static_cast<std::size_t>(info.st_size), limit));
    std::size_t at = 0;
    while (at < out.size()) {
        const ssize_t got = ::pread(file, out.data() + at, out.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        at += static_cast<std::size_t>(got);
    }
    out.resize(at);
    return out;
}

}  // namespace

Result<std::unique_ptr<MempoolJournal>> MempoolJournal::open(std::string path) {
    const int file = ::open(path.c_str(), kOpenFlags, kOwnerOnly);
    if (file < 0) return failed(path, "cannot be opened");
    std::unique_ptr<MempoolJournal> out(new MempoolJournal(std::move(path), file));
    const Bytes content = read_up_to(file, kBytesMax);
    out->recover(content);
    // Data after a damaged record cannot be told apart from it; new records must not be appended behind it.
    if (::ftruncate(file, static_cast<off_t>(out->size_)) != 0) return failed(out->path_, "cannot be cut");
    return out;
}

MempoolJournal::~MempoolJournal() { ::close(file_); }

void MempoolJournal::recover(View content) {
    std::map<Hash32, std::size_t> places;  // hash → index in recovered_
    const auto leave = [&](const Hash32& hash) {
        const auto found = places.find(hash);
        if (found == places.end()) return;
        recovered_[found->second].clear();
        places.erase(found);
    };
    while (content.size() - size_ > kHeader) {
        const View rest = content.subspan(size_);
        const std::uint32_t length = load_u32(rest.data());
        const std::size_t size = length == kGone ? Hash32::size() : length;
        if (size > kTxBytesMax || size > rest.size() - kHeader) break;
        const View body = rest.subspan(kHeader, size);
        const Hash32 hash = keccak256(body);
        if (!equal(View(hash.bytes).first(4), rest.subspan(4, 4))) break;
        leave(length == kGone ? to_hash32(body) : hash);
        if (length != kGone) {
            places.emplace(hash, recovered_.size());
            recovered_.push_back(to_bytes(body));
        }
        size_ += kHeader + size;
    }
    std::erase_if(recovered_, [](const Bytes& raw) { return raw.empty(); });
}

std::vector<Bytes> MempoolJournal::take_recovered() {
    const std::lock_guard lock(mutex_);
    return std::exchange(recovered_, {});
}

Status<> MempoolJournal::append(const SignedTx& tx) {
    Bytes record;
    append_record(record, tx);
    return write(record);
}

Status<> MempoolJournal::forget(const Hash32& gone) {
    Bytes record;
    append_gone(record, gone);
    return write(record);
}

Status<> MempoolJournal::forget(const std::vector<TxPtr>& gone) {
    Bytes records;
    for (const TxPtr& tx : gone) append_gone(records, tx->hash);
    return write(records);
}

Status<> MempoolJournal::write(View records) {
    const std::lock_guard lock(mutex_);
    if (meanwhile_) meanwhile_->insert(meanwhile_->end(), records.begin(), records.end());
    if (!cut_torn() || !write_all(file_, records)) {
        const auto why = failed(path_, "cannot be written");
        torn_ = incomplete_ = true;
        (void)cut_torn();
        return why;
    }
    size_ += records.size();
    return Unit{};
}

/// Removes a partial record: records that are appended behind it would be lost with it.
bool MempoolJournal::cut_torn() {
    if (torn_) torn_ = ::ftruncate(file_, static_cast<off_t>(size_)) != 0;
    return !torn_;
}

Status<> MempoolJournal::rewrite(const std::function<std::vector<TxPtr>()>& waiting) {
    /// Ends the collection in meanwhile_ however the attempt ends, and sets the pause before the next one.
    class Attempt {
    public:
        explicit Attempt(MempoolJournal& journal) : journal_(journal) {
            const std::lock_guard lock(journal_.mutex_);
            journal_.meanwhile_.emplace();
        }
        ~Attempt() {
            const std::lock_guard lock(journal_.mutex_);
            journal_.meanwhile_.reset();
            journal_.pause_ = replaced ? 0 : std::clamp(2 * journal_.pause_, 1U, kPauseMax);
            journal_.left_ = journal_.pause_;
            journal_.failed_at_ = replaced ? 0 : journal_.size_;
        }
        bool replaced = false;

    private:
        MempoolJournal& journal_;
    } attempt(*this);
    Bytes content;
    for (const TxPtr& tx : waiting()) append_record(content, *tx);
    const Status<> outcome = replace(content);
    attempt.replaced = outcome.has_value();
    return outcome;
}

Status<> MempoolJournal::replace(View content) {
    const std::string next_path = path_ + ".new";
    const int next = ::open(next_path.c_str(), kOpenFlags | O_TRUNC, kOwnerOnly);
    if (next < 0) return failed(next_path, "cannot be opened");
    const bool written = write_all(next, content);
    const std::lock_guard lock(mutex_);
    if (!written || !write_all(next, *meanwhile_) || std::rename(next_path.c_str(), path_.c_str()) != 0) {
        const auto why = failed(next_path, "cannot take the journal's place");
        ::close(next);
        ::unlink(next_path.c_str());
        return why;
    }
    ::close(file_);
    file_ = next;
    size_ = content.size() + meanwhile_->size();
    torn_ = incomplete_ = false;
    return Unit{};
}

bool MempoolJournal::wants_rewrite(std::size_t live_bytes) {
    const std::lock_guard lock(mutex_);
    if (left_ > 0) {
        --left_;
        return false;
    }
    return incomplete_ || size_ > 2 * live_bytes + kSlack;
}

bool MempoolJournal::has_grown(std::size_t live_bytes) {
    const std::lock_guard lock(mutex_);
    return size_ > std::max(2 * live_bytes, failed_at_) + kSlack;
}

}  // namespace retrace::ledger
