// SPDX-License-Identifier: MIT
#include "node/server/http/work_pool.hpp"

#include <algorithm>

namespace retrace::node::rpc {

void WorkPool::start() {
    for (unsigned i = 0; i < limits_.threads; ++i) threads_.emplace_back([this] { run(false); });
    for (unsigned i = 0; i < limits_.local_threads; ++i) threads_.emplace_back([this] { run(true); });
}

WorkPool::Client* WorkPool::with_most(std::size_t own) {
    Client* most = nullptr;
    for (auto& [name, client] : clients_) {
        if (name.empty() || client.waiting.size() <= own) continue;
        own = client.waiting.size();
        most = &client;
    }
    return most;
}

void WorkPool::forget_idle(Clients::iterator client) noexcept {
    if (client->second.running == 0 && client->second.waiting.empty()) clients_.erase(client);
}

void WorkPool::insert(const std::string& client, Waiting waiting) {
    const auto entry = clients_.try_emplace(client).first;
    const bool in_line = !entry->second.waiting.empty();
    try {
        if (!in_line) turns_.push_back(entry);
        entry->second.waiting.push_back(std::move(waiting));
    } catch (...) {
        if (!in_line && !turns_.empty() && turns_.back() == entry) turns_.pop_back();
        forget_idle(entry);
        throw;
    }
    if (!client.empty()) ++waiting_;
}

WorkPool::JobId WorkPool::add(const std::string& client, Job job) {
    Job given_up;
    JobId job_id = 0;
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return 0;
        const auto found = clients_.find(client);
        const std::size_t own = found == clients_.end() ? 0 : found->second.waiting.size();
        if (own >= (client.empty() ? limits_.waiting : limits_.waiting_per_client)) return 0;
        Client* most = nullptr;
        if (!client.empty() && waiting_ >= limits_.waiting) {
            // Only from a client that keeps at least as many as this one then has; otherwise two clients would
            // evict each other forever.
            most = with_most(own + 1);
            if (most == nullptr) return 0;
        }
        job_id = ++last_job_id_;
        insert(client, {job_id, std::move(job)});  // before the eviction, because it may throw
        if (most != nullptr) {
            given_up = std::move(most->waiting.back().job);
            most->waiting.pop_back();
            --waiting_;
        }
    }
    wake_.notify_all();  // all, because not every thread may run this job
    if (given_up) given_up(JobOutcome::given_up);
    return job_id;
}

bool WorkPool::withdraw(const std::string& client, JobId job_id) noexcept {
    Job withdrawn;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    const auto entry = clients_.find(client);
    if (entry == clients_.end()) return false;
    auto& waiting = entry->second.waiting;
    const auto found =
        std::find_if(waiting.begin(), waiting.end(), [&](const Waiting& one) { return one.job_id == job_id; });
    if (found == waiting.end()) return false;
    withdrawn = std::move(found->job);
    waiting.erase(found);
    if (!client.empty()) --waiting_;
    if (waiting.empty()) turns_.erase(std::find(turns_.begin(), turns_.end(), entry));
    forget_idle(entry);
    return true;
}

WorkPool::Turns::iterator WorkPool::next(bool local) {
    return std::find_if(turns_.begin(), turns_.end(), [&](const Clients::iterator& client) {
        if (client->first.empty()) return true;
        return !local && (limits_.threads < 2 || client->second.running + 1 < limits_.threads);
    });
}

void WorkPool::run(bool local) {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stopping_ || next(local) != turns_.end(); });
        if (stopping_) return;
        const auto turn = next(local);
        const Clients::iterator client = *turn;
        Client& entry = client->second;
        Job job = std::move(entry.waiting.front().job);
        entry.waiting.pop_front();
        if (!client->first.empty()) --waiting_;
        ++entry.running;
        if (entry.waiting.empty()) {
            turns_.erase(turn);
        } else {
            std::rotate(turn, turn + 1, turns_.end());
        }
        lock.unlock();
        job(JobOutcome::runs);
        job = nullptr;  // destroyed without the lock
        lock.lock();
        --entry.running;
        forget_idle(client);
        if (!turns_.empty()) wake_.notify_all();  // a client at its thread limit may run again
    }
}

void WorkPool::stop() noexcept {
    Clients left;
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
