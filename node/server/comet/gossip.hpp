// SPDX-License-Identifier: MIT
// Hands transactions to CometBFT's mempool, which gossips them, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::node::engine {

/// The transactions of the application's mempool that could be executed now, best first, at most that many bytes.
using PendingTxs = std::function<std::vector<Bytes>(std::size_t max_bytes)>;

/// New transactions are handed over once. All that could be executed is handed over anew when CometBFT was restarted,
/// and the best of it in every interval: CometBFT's mempool may have been full, or have dropped what could not be
/// executed for a while. CometBFT ignores what it has.
class Gossip {
public:
    Gossip(std::filesystem::path rpc_socket, PendingTxs pending,
           std::chrono::milliseconds interval = std::chrono::seconds(10));
    ~Gossip() { stop(); }
    /// Hands over nothing more. Idempotent.
    void stop();

    /// Queues a transaction. When the queue is full it is left to the next interval.
    void announce(View tx);
    /// Hands everything over again; called after CometBFT has restarted.
    void announce_all();

private:
    void run();
    void refill(std::unique_lock<std::mutex>& lock);
    std::vector<Bytes> next_batch();

    std::filesystem::path socket_;
    PendingTxs pending_;
    std::chrono::milliseconds interval_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::deque<Bytes> queue_;
    std::size_t queued_bytes_ = 0;
    bool all_ = false;
    bool stopping_ = false;
    std::chrono::steady_clock::time_point next_refill_;
    std::thread thread_;
};

}  // namespace retrace::node::engine
