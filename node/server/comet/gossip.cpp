// SPDX-License-Identifier: MIT
#include "node/server/comet/gossip.hpp"

#include "node/server/comet/comet_rpc.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::size_t kQueueBytes = 64U << 20;  // as much as our mempool holds
constexpr std::size_t kRefillBytes = 4U << 20;  // what the next block could hold
constexpr std::chrono::milliseconds kRetry{200};

}  // namespace

Gossip::Gossip(std::filesystem::path rpc_socket, PendingTxs pending, std::chrono::milliseconds interval)
    : socket_(std::move(rpc_socket)),
      pending_(std::move(pending)),
      interval_(interval),
      next_refill_(std::chrono::steady_clock::now() + interval),
      thread_([this] { run(); }) {}

void Gossip::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Gossip::announce(View tx) {
    const std::lock_guard lock(mutex_);
    if (queued_bytes_ + tx.size() > kQueueBytes) return;
    queue_.push_back(to_bytes(tx));
    queued_bytes_ += tx.size();
    changed_.notify_all();
}

void Gossip::announce_all() {
    const std::lock_guard lock(mutex_);
    all_ = true;
    changed_.notify_all();
}

void Gossip::refill(std::unique_lock<std::mutex>& lock) {
    const std::size_t most = all_ ? kQueueBytes : kRefillBytes;
    if (all_) {
        queue_.clear();
        queued_bytes_ = 0;
    }
    all_ = false;
    next_refill_ = std::chrono::steady_clock::now() + interval_;
    lock.unlock();
    std::vector<Bytes> pending = pending_(most);
    lock.lock();
    for (Bytes& tx : pending) {
        queued_bytes_ += tx.size();
        queue_.push_back(std::move(tx));
    }
}

std::vector<Bytes> Gossip::next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, next_refill_, [this] { return stopping_ || all_ || !queue_.empty(); });
    if (stopping_) return {};
    // New transactions come first: nothing is repeated while the queue has some.
    if (all_ || queue_.empty()) refill(lock);
    std::vector<Bytes> batch;
    for (std::size_t bytes = 0; !queue_.empty() && batch.size() < CometRpc::kBatchMax; queue_.pop_front()) {
        bytes += queue_.front().size();
        if (!batch.empty() && bytes > CometRpc::kBatchBytes) break;
        queued_bytes_ -= queue_.front().size();
        batch.push_back(std::move(queue_.front()));
    }
    return batch;
}

void Gossip::run() {
    CometRpc rpc(socket_);
    std::vector<Bytes> batch;
    for (;;) {
        if (batch.empty()) batch = next_batch();
        const bool answered = batch.empty() || rpc.broadcast(batch).has_value();
        std::unique_lock lock(mutex_);
        if (answered) {
            // What CometBFT has no room for or refuses comes again with a later refill, if it can still be executed.
            batch.clear();
        } else {
            changed_.wait_for(lock, kRetry, [this] { return stopping_ || all_; });
        }
        if (stopping_) return;
        if (all_) batch.clear();  // The batch is part of all.
    }
}

}  // namespace retrace::node::engine
