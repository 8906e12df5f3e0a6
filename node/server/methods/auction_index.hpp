// SPDX-License-Identifier: MIT
// The end of each task's newest auction, kept for as long as the node: the ledger deletes bids when an auction closes,
// and a node keeps past states for a while only.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "ledger/chain/chain.hpp"
#include "node/explain/auction_record.hpp"

namespace retrace::node::rpc {

/// Examines each auction in its last block, on a thread of its own. After a restart it goes on where it ended, as far
/// as the states are still kept. One record a task, so that it grows no faster than the ledger's own records.
class AuctionIndex {
public:
    /// `store` is used for nothing else; both outlive the index. Records of another chain are deleted.
    AuctionIndex(ledger::Store& store, const ledger::Chain& chain);
    ~AuctionIndex();

    /// Starts the thread.
    void begin();
    /// The chain has a new block. Returns at once.
    void wake();
    /// Examines the auctions that end before the block after the tip. Only the thread calls it once that has begun.
    void catch_up(const std::stop_token& stop = {});

    /// Thread-safe.
    std::optional<AuctionRecord> find(std::uint64_t task) const;

private:
    void examine(std::uint64_t height);
    void forget_other_chain();
    void loop(const std::stop_token& stop);

    ledger::Store& store_;
    const ledger::Chain& chain_;
    std::uint64_t examined_ = 0;  ///< All heights up to this one are.
    bool failed_ = false;         ///< The store took no more.
    std::mutex mutex_;
    std::condition_variable_any woken_;
    bool new_block_ = true;
    std::jthread thread_;
};

}  // namespace retrace::node::rpc
