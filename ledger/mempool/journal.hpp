// SPDX-License-Identifier: MIT
// Journal of waiting transactions on disk, so that a killed process finds them again. Appends are not fsynced: accepted
// transactions survive a crash of the process, not of the machine; the ledger itself promises neither. SPEC 7.6
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
    /// A larger journal is read only up to here.
    static constexpr std::size_t kBytesMax = 256U << 20;

    /// Opens or creates the journal. An Error names the file and the reason.
    static Result<std::unique_ptr<MempoolJournal>> open(std::string path);
    ~MempoolJournal();
    MempoolJournal(const MempoolJournal&) = delete;
    MempoolJournal& operator=(const MempoolJournal&) = delete;

    /// Returns, once, the raw transactions found at opening: oldest first, without duplicates, up to the first torn or
    /// damaged record. They may have been included since, and two of them may have the same account and nonce, if the
    /// later one replaced the other: the pool decides again.
    std::vector<Bytes> take_recovered();

    /// Records an accepted transaction. Callers keep the order in which the pool accepted and dropped transactions. A
    /// failed append leaves no partial record and requests a rewrite.
    Status<> append(const SignedTx& tx);
    /// Records dropped transactions, which are not recovered. A failure has the same effect as in `append`.
    Status<> forget(const std::vector<TxPtr>& gone);
    Status<> forget(const Hash32& gone);
    /// Replaces the file by the waiting transactions; `waiting` is called once. Concurrent appends do not block and are
    /// kept too. One thread at a time. A call that fails or throws changes nothing.
    Status<> rewrite(const std::function<std::vector<TxPtr>()>& waiting);
    /// Called at every block: whether the file is far larger than the `live_bytes` that wait, or lacks a waiting
    /// transaction. After a failed rewrite it returns false for some blocks, twice as many each time.
    bool wants_rewrite(std::size_t live_bytes);
    /// Called after each append, because blocks may be rare: tests the file's length only. After a failed rewrite it
    /// returns false until the file has grown by a fixed amount again.
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
    std::size_t size_ = 0;            // end of the last complete record
    bool torn_ = false;               // a partial record may follow
    bool incomplete_ = false;         // a transaction could not be written
    std::optional<Bytes> meanwhile_;  // appended while the file is rewritten
    unsigned pause_ = 0, left_ = 0;   // blocks between two attempts, and blocks left until the next one
    std::size_t failed_at_ = 0;       // the file's length at a failed attempt
    std::vector<Bytes> recovered_;
};

}  // namespace retrace::ledger
