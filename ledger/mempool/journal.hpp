// SPDX-License-Identifier: MIT
// Waiting transactions on disk, so that a process that was killed finds them again. Appended without fsync:
// what was accepted survives the death of the process, not of the machine; the ledger itself promises
// neither. SPEC 7.6
#pragma once

#include <memory>
#include <mutex>
#include <span>
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

    /// Raw transactions found at opening, oldest first, up to the first record that is torn or damaged. They
    /// may have been included since: the pool decides again. Moves them out.
    std::vector<Bytes> take_recovered();

    Status<> append(const SignedTx& tx);
    /// Replaces the file by what still waits.
    Status<> rewrite(std::span<const TxPtr> txs);
    /// Whether the file holds far more than the `live_bytes` that wait.
    bool wants_rewrite(std::size_t live_bytes) const;

private:
    MempoolJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}
    void recover(View content);

    const std::string path_;
    mutable std::mutex mutex_;
    int file_ = -1;
    std::size_t size_ = 0;
    std::vector<Bytes> recovered_;
};

}  // namespace retrace::ledger
