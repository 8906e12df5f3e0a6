// SPDX-License-Identifier: MIT
#include "node/server/methods/filters.hpp"

#include <algorithm>

#include "ledger/crypto/secret.hpp"

namespace retrace::node::rpc {

std::string random_id() {
    std::array<std::uint8_t, 16> bytes{};
    ledger::random_bytes(bytes);
    return to_0x(View(bytes));
}

std::string FilterStore::add(FilterState state, const std::string& holder) {
    auto entry = std::make_shared<Entry>();
    entry->holder = holder;
    entry->bytes = kBytesEach;
    if (const auto* logs = std::get_if<LogFilterState>(&state)) entry->bytes += bytes_of(logs->query.filter);
    entry->state = std::move(state);
    const std::lock_guard lock(mutex_);
    drop_expired();
    if (!make_room(holder, entry->bytes)) return {};
    Holding& held = held_[holder];
    held.bytes += entry->bytes;
    if (!holder.empty()) bytes_ += entry->bytes;
    std::string id = random_id();
    entry->turn = by_use_.insert(by_use_.end(), id);
    entry->own_turn = held.by_use.insert(held.by_use.end(), id);
    entry->used = clock_();
    filters_.emplace(id, std::move(entry));
    return id;
}

std::string FilterStore::add_pending(const std::string& holder) {
    std::uint64_t next = 0;
    {
        const std::lock_guard lock(mutex_);
        next = first_pending_ + pending_.size();
    }
    return add(PendingFilterState{next}, holder);
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
        count_use(*entry);
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

bool FilterStore::make_room(const std::string& holder, std::size_t bytes) {
    const auto found = held_.find(holder);
    const std::size_t then = (found == held_.end() ? 0 : found->second.bytes) + bytes;
    if (holder.empty()) return then <= kBytesLocal;
    if (then > kBytesPerClient) return false;
    while (bytes_ + bytes > kBytesMax) {
        auto most = held_.end();
        for (auto it = held_.begin(); it != held_.end(); ++it) {
            if (!it->first.empty() && (most == held_.end() || it->second.bytes > most->second.bytes)) most = it;
        }
        // Only from a holder with more than this one then has; otherwise two holders would evict each other forever.
        if (most == held_.end() || most->second.bytes <= then) return false;
        erase(filters_.find(most->second.by_use.front()));
    }
    return true;
}

void FilterStore::drop_expired() {
    const auto now = clock_();
    while (!by_use_.empty()) {
        const auto longest = filters_.find(by_use_.front());
        if (now - longest->second->used <= kLife) return;
        erase(longest);
    }
}

void FilterStore::count_use(Entry& entry) {
    entry.used = clock_();
    by_use_.splice(by_use_.end(), by_use_, entry.turn);
    std::list<std::string>& own = held_.find(entry.holder)->second.by_use;
    own.splice(own.end(), own, entry.own_turn);
}

void FilterStore::erase(Entries::iterator entry) {
    const Entry& gone = *entry->second;
    const auto held = held_.find(gone.holder);
    if (!gone.holder.empty()) bytes_ -= gone.bytes;
    held->second.bytes -= gone.bytes;
    held->second.by_use.erase(gone.own_turn);
    if (held->second.by_use.empty()) held_.erase(held);
    by_use_.erase(gone.turn);
    filters_.erase(entry);
}

}  // namespace retrace::node::rpc
