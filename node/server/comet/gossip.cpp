// SPDX-License-Identifier: MIT
#include "node/server/comet/gossip.hpp"

#include <chrono>

#include "node/server/comet/comet_rpc.hpp"

namespace retrace::node::engine {
namespace {

constexpr std::size_t kQueueBytes = 32U << 20;
constexpr std::chrono::milliseconds kRetry{200};

}  // namespace

Gossip::Gossip(std::filesystem::path rpc_socket, PendingTxs pending)
    : socket_(std::move(rpc_socket)), pending_(std::move(pending)), thread_([this] { run(); }) {}

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
    if (all_) return;
    if (queued_bytes_ + tx.size() > kQueueBytes) {
        all_ = true;
    } else {
        queue_.push_back(to_bytes(tx));
        queued_bytes_ += tx.size();
    }
    changed_.notify_all();
}

void Gossip::announce_all() {
    const std::lock_guard lock(mutex_);
    all_ = true;
    changed_.notify_all();
}

std::vector<Bytes> Gossip::next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || all_ || !queue_.empty(); });
    if (stopping_) return {};
    if (all_) {
        all_ = false;
        queue_.clear();
        queued_bytes_ = 0;
        lock.unlock();
        std::vector<Bytes> pending = pending_();
        lock.lock();
        for (Bytes& tx : pending) {
            queued_bytes_ += tx.size();
            queue_.push_back(std::move(tx));
        }
    }
    std::vector<Bytes> batch;
    for (; !queue_.empty() && batch.size() < CometRpc::kBatchMax; queue_.pop_front()) {
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
        const auto results = batch.empty() ? std::vector<Broadcast>{} : rpc.broadcast(batch);
        std::vector<Bytes> again;
        for (std::size_t i = 0; i < batch.size(); ++i)
            if (!results || (*results)[i] == Broadcast::full) again.push_back(std::move(batch[i]));
        batch = std::move(again);
        std::unique_lock lock(mutex_);
        if (!batch.empty()) changed_.wait_for(lock, kRetry, [this] { return stopping_; });
        if (stopping_) return;
    }
}

}  // namespace retrace::node::engine
