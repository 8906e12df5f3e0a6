// SPDX-License-Identifier: MIT
// Hands transactions to CometBFT's mempool, which gossips them, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::node::engine {

/// All transactions that the application's mempool could put into a block.
using PendingTxs = std::function<std::vector<Bytes>()>;

class Gossip {
public:
    Gossip(std::filesystem::path rpc_socket, PendingTxs pending);
    ~Gossip() { stop(); }
    /// Hands over nothing more. Idempotent.
    void stop();

    /// Queues a transaction. When the queue is full, or CometBFT was restarted, all pending transactions are handed
    /// over anew, so none is forgotten.
    void announce(View tx);
    void announce_all();

private:
    void run();
    std::vector<Bytes> next_batch();

    std::filesystem::path socket_;
    PendingTxs pending_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::deque<Bytes> queue_;
    std::size_t queued_bytes_ = 0;
    bool all_ = false;  // the queue is replaced by all pending transactions
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace retrace::node::engine
