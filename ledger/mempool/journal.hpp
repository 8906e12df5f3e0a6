// SPDX-License-Identifier: MIT
// Waiting transactions on disk, so that a process that was killed finds them again. Appended without fsync:
// what was accepted survives the death of the process, not of the machine; the ledger itself promises
// neither. SPEC 7.6
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ledger/tx/transaction.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger {

/// Thread-safe.
class MempoolJournal {
public:
    /// A journal over this size is read up to here.
    static constexpr std::size_t kBytesMax = 256U << 20;

    /// Opens or creates. An Error names the file and the reason.
    static Result<std::unique_ptr<MempoolJournal>> open(std::string path);
    ~MempoolJournal();
    MempoolJournal(const MempoolJournal&) = delete;
    MempoolJournal& operator=(const MempoolJournal&) = delete;

    /// Raw transactions found at opening, oldest first and each once, up to the first record that is torn or damaged.
    /// They may have been included since, and two of them may be of one account and nonce, where the later one took the
    /// other's place: the pool decides again. Moves them out.
    std::vector<Bytes> take_recovered();

    /// Was accepted. Whoever writes keeps the order in which the pool took and gave up. One that fails leaves no part
    /// of its record, and asks for a rewrite.
    Status<> append(const SignedTx& tx);
    /// Were given up, and do not come back. The same holds for one that fails.
    Status<> forget(const std::vector<TxPtr>& gone);
    Status<> forget(const Hash32& gone);
    /// Replaces the file by what still waits, which is asked for once: what is appended meanwhile is kept
    /// too, and waits for nothing. One thread at a time. One that fails, or throws, changes nothing.
    Status<> rewrite(const std::function<std::vector<TxPtr>()>& waiting);
    /// Asked at every block: whether the file holds far more than the `live_bytes` that wait, or lacks one of
    /// them. After a rewrite that failed no for some blocks, twice as many each time.
    bool wants_rewrite(std::size_t live_bytes);
    /// Asked after each append, because blocks may be rare: the same of the file's length alone, and after a rewrite
    /// that failed not before it has grown by as much again.
    bool has_grown(std::size_t live_bytes);

private:
    MempoolJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}
    void recover(View content);
    Status<> write(View records);
    bool cut_torn();
    Status<> replace(View content);

    const std::string path_;
    std::mutex mutex_;  // guards the members below
    int file_ = -1;
    std::size_t size_ = 0;            // up to the end of the last whole record
    bool torn_ = false;               // part of a record may follow
    bool incomplete_ = false;         // a transaction could not be written
    std::optional<Bytes> meanwhile_;  // appended while the file is rewritten
    unsigned pause_ = 0, left_ = 0;   // blocks between two attempts, and until the next
    std::size_t failed_at_ = 0;       // the file's length at an attempt that failed
    std::vector<Bytes> recovered_;
};

}  // namespace retrace::ledger
