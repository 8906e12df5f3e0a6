// SPDX-License-Identifier: MIT
#include "node/rpc/work_pool.hpp"

#include <algorithm>

namespace retrace::node::rpc {

void WorkPool::start() {
    for (unsigned i = 0; i < limits_.threads; ++i) threads_.emplace_back([this] { run(); });
}

bool WorkPool::add(const std::string& client, Job job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || waiting_ >= limits_.waiting) return false;
        const auto found = clients_.find(client);
        const std::size_t own = found == clients_.end() ? 0 : found->second.waiting.size();
        if (!client.empty() && own >= limits_.waiting_per_client) return false;
        if (own == 0) turns_.push_back(client);
        clients_[client].waiting.push_back(std::move(job));
        ++waiting_;
    }
    wake_.notify_one();
    return true;
}

WorkPool::Turn WorkPool::next() {
    return std::find_if(turns_.begin(), turns_.end(), [this](const std::string& client) {
        return client.empty() || limits_.threads < 2 || clients_[client].running + 1 < limits_.threads;
    });
}

void WorkPool::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stopping_ || next() != turns_.end(); });
        if (stopping_) return;
        const Turn turn = next();
        const std::string client = std::move(*turn);
        turns_.erase(turn);
        Client& entry = clients_[client];
        Job job = std::move(entry.waiting.front());
        entry.waiting.pop_front();
        --waiting_;
        ++entry.running;
        if (!entry.waiting.empty()) turns_.push_back(client);
        lock.unlock();
        job();
        job = nullptr;  // what it holds is given up without the lock
        lock.lock();
        // The map may have grown meanwhile, but the entry of a client that runs stays where it is.
        if (--entry.running == 0 && entry.waiting.empty()) clients_.erase(client);
        if (!turns_.empty()) wake_.notify_one();  // one that was held back may have its turn now
    }
}

void WorkPool::stop() noexcept {
    std::map<std::string, Client> left;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    const std::lock_guard lock(mutex_);
    left.swap(clients_);
    turns_.clear();
    waiting_ = 0;
}

}  // namespace retrace::node::rpc
