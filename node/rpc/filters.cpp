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

std::string FilterStore::add(FilterState state, const std::string& holder) {
    auto entry = std::make_shared<Entry>();
    entry->holder = holder;
    entry->bytes = sizeof(Entry);
    if (const auto* logs = std::get_if<LogFilterState>(&state)) entry->bytes += bytes_of(logs->query.filter);
    entry->state = std::move(state);
    const std::lock_guard lock(mutex_);
    entry->used = clock_();
    entry->turn = ++turns_;
    drop_expired();
    if (!make_room(holder, entry->bytes)) return {};
    Holding& held = held_[holder];
    ++held.filters;
    held.bytes += entry->bytes;
    bytes_ += entry->bytes;
    std::string id = random_id();
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
        entry->used = clock_();
        entry->turn = ++turns_;
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

FilterStore::Holding FilterStore::holding_of(const std::string& holder) const {
    const auto found = held_.find(holder);
    return found == held_.end() ? Holding{} : found->second;
}

bool FilterStore::make_room(const std::string& holder, std::size_t bytes) {
    if (!holder.empty()) {
        for (Holding own = holding_of(holder);
             own.filters >= kFiltersPerClient || (own.filters > 0 && own.bytes + bytes > kBytesPerClient);
             own = holding_of(holder))
            erase(oldest(&holder));
    }
    for (;;) {
        const bool crowded = filters_.size() >= kFiltersMax;
        if (!crowded && bytes_ + bytes <= kBytesMax) return true;
        const auto part = [&](const Holding& one) { return crowded ? one.filters : one.bytes; };
        const std::size_t own = part(holding_of(holder));
        const auto most = std::max_element(held_.begin(), held_.end(), [&](const auto& a, const auto& b) {
            return part(a.second) < part(b.second);
        });
        if (most == held_.end()) return false;
        // From one who keeps more than the newcomer then has: otherwise two would push each other out for ever.
        if (part(most->second) > own + (crowded ? 1 : bytes)) {
            const std::string name = most->first;
            erase(oldest(&name));
            continue;
        }
        const auto longest = oldest(own > 0 ? &holder : nullptr);
        if (own == 0 && clock_() - longest->second->used < kIdle) return false;
        erase(longest);
    }
}

FilterStore::Entries::iterator FilterStore::oldest(const std::string* holder) {
    auto out = filters_.end();
    for (auto it = filters_.begin(); it != filters_.end(); ++it) {
        if (holder != nullptr && it->second->holder != *holder) continue;
        if (out == filters_.end() || it->second->turn < out->second->turn) out = it;
    }
    return out;
}

void FilterStore::drop_expired() {
    const auto now = clock_();
    for (auto it = filters_.begin(); it != filters_.end();) {
        const auto entry = it++;
        if (now - entry->second->used > kLife) erase(entry);
    }
}

void FilterStore::erase(Entries::iterator entry) {
    const auto held = held_.find(entry->second->holder);
    bytes_ -= entry->second->bytes;
    held->second.bytes -= entry->second->bytes;
    if (--held->second.filters == 0) held_.erase(held);
    filters_.erase(entry);
}

}  // namespace retrace::node::rpc
