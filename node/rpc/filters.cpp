// SPDX-License-Identifier: MIT
#include "node/rpc/filters.hpp"

#include <algorithm>

#include "ledger/crypto/secret.hpp"

namespace retrace::node::rpc {

std::string random_id() {
    std::array<std::uint8_t, 16> bytes{};
    ledger::random_bytes(bytes);
    return to_0x(View(bytes));
}

std::string FilterStore::add(FilterState state, const std::string& client) {
    auto entry = std::make_shared<Entry>();
    entry->client = client;
    entry->state = std::move(state);
    const std::lock_guard lock(mutex_);
    entry->used = clock_();
    drop_expired();
    make_room(client);
    std::string id = random_id();
    filters_.emplace(id, std::move(entry));
    ++held_[client];
    return id;
}

std::string FilterStore::add_pending(const std::string& client) {
    std::uint64_t next = 0;
    {
        const std::lock_guard lock(mutex_);
        next = first_pending_ + pending_.size();
    }
    return add(PendingFilterState{next}, client);
}

bool FilterStore::remove(const std::string& id) {
    const std::lock_guard lock(mutex_);
    drop_expired();
    const auto it = filters_.find(id);
    if (it == filters_.end()) return false;
    erase(it);
    return true;
}

bool FilterStore::with(const std::string& id, const std::function<void(FilterState&)>& use) {
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard lock(mutex_);
        drop_expired();
        const auto it = filters_.find(id);
        if (it == filters_.end()) return false;
        entry = it->second;
        entry->used = clock_();
    }
    const std::lock_guard lock(entry->mutex);
    use(entry->state);
    return true;
}

std::optional<LogQuery> FilterStore::query_of(const std::string& id) {
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard lock(mutex_);
        drop_expired();
        const auto it = filters_.find(id);
        if (it == filters_.end()) return std::nullopt;
        entry = it->second;
    }
    const std::lock_guard lock(entry->mutex);
    const auto* logs = std::get_if<LogFilterState>(&entry->state);
    return logs != nullptr ? std::optional(logs->query) : std::nullopt;
}

void FilterStore::on_pending(const Hash32& hash) {
    const std::lock_guard lock(mutex_);
    if (pending_.size() >= kPendingMax) {
        pending_.pop_front();
        ++first_pending_;
    }
    pending_.push_back(hash);
}

std::vector<Hash32> FilterStore::take_pending(PendingFilterState& state) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t first = std::max(state.next, first_pending_);
    state.next = first_pending_ + pending_.size();
    return {pending_.begin() + static_cast<std::ptrdiff_t>(first - first_pending_), pending_.end()};
}

void FilterStore::make_room(const std::string& client) {
    if (!client.empty() && held_.contains(client) && held_[client] >= kFiltersPerClient) drop_oldest_of(client);
    if (filters_.size() < kFiltersMax) return;
    const auto most = std::max_element(held_.begin(), held_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    drop_oldest_of(std::string(most->first));
}

void FilterStore::drop_oldest_of(const std::string& client) {
    auto oldest = filters_.end();
    for (auto it = filters_.begin(); it != filters_.end(); ++it) {
        if (it->second->client != client) continue;
        if (oldest == filters_.end() || it->second->used < oldest->second->used) oldest = it;
    }
    if (oldest != filters_.end()) erase(oldest);
}

void FilterStore::drop_expired() {
    const auto now = clock_();
    for (auto it = filters_.begin(); it != filters_.end();) {
        const auto entry = it++;
        if (now - entry->second->used > kLife) erase(entry);
    }
}

void FilterStore::erase(Entries::iterator entry) {
    const auto held = held_.find(entry->second->client);
    if (--held->second == 0) held_.erase(held);
    filters_.erase(entry);
}

}  // namespace retrace::node::rpc
