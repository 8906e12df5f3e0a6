// SPDX-License-Identifier: MIT
#include "node/rpc/work_pool.hpp"

#include <algorithm>

namespace retrace::node::rpc {

void WorkPool::start() {
    for (unsigned i = 0; i < limits_.threads; ++i) threads_.emplace_back([this] { run(false); });
    for (unsigned i = 0; i < limits_.local_threads; ++i) threads_.emplace_back([this] { run(true); });
}

WorkPool::Job WorkPool::give_up(std::size_t own) {
    Client* most = nullptr;
    for (auto& [name, client] : clients_) {
        if (name.empty() || client.waiting.size() <= own) continue;
        own = client.waiting.size();
        most = &client;
    }
    if (most == nullptr) return nullptr;
    Job out = std::move(most->waiting.back());
    most->waiting.pop_back();
    --waiting_;
    return out;
}

bool WorkPool::add(const std::string& client, Job job) {
    Job given_up;
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return false;
        const auto found = clients_.find(client);
        const std::size_t own = found == clients_.end() ? 0 : found->second.waiting.size();
        if (own >= (client.empty() ? limits_.waiting : limits_.waiting_per_client)) return false;
        if (!client.empty() && waiting_ >= limits_.waiting) {
            // From one who keeps as many as the newcomer then has: otherwise two would push each other out
            // for ever.
            given_up = give_up(own + 1);
            if (!given_up) return false;
        }
        if (own == 0) turns_.push_back(client);
        clients_[client].waiting.push_back(std::move(job));
        if (!client.empty()) ++waiting_;
    }
    wake_.notify_all();  // not every thread may take it
    if (given_up) given_up(Fate::given_up);
    return true;
}

WorkPool::Turn WorkPool::next(bool local) {
    return std::find_if(turns_.begin(), turns_.end(), [&](const std::string& client) {
        if (client.empty()) return true;
        return !local && (limits_.threads < 2 || clients_[client].running + 1 < limits_.threads);
    });
}

void WorkPool::run(bool local) {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stopping_ || next(local) != turns_.end(); });
        if (stopping_) return;
        const Turn turn = next(local);
        const std::string client = std::move(*turn);
        turns_.erase(turn);
        Client& entry = clients_[client];
        Job job = std::move(entry.waiting.front());
        entry.waiting.pop_front();
        if (!client.empty()) --waiting_;
        ++entry.running;
        if (!entry.waiting.empty()) turns_.push_back(client);
        lock.unlock();
        job(Fate::runs);
        job = nullptr;  // what it holds is given up without the lock
        lock.lock();
        // The map may have grown meanwhile, but the entry of a client that runs stays where it is.
        if (--entry.running == 0 && entry.waiting.empty()) clients_.erase(client);
        if (!turns_.empty()) wake_.notify_all();  // one that was held back may have its turn now
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
