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

std::string FilterStore::add(FilterState state) {
    const std::lock_guard lock(mutex_);
    drop_expired();
    if (filters_.size() >= kFiltersMax) {
        filters_.erase(std::min_element(filters_.begin(), filters_.end(), [](const auto& a, const auto& b) {
            return a.second.used < b.second.used;
        }));
    }
    std::string id = random_id();
    filters_[id] = Entry{std::move(state), clock_()};
    return id;
}

bool FilterStore::remove(const std::string& id) {
    const std::lock_guard lock(mutex_);
    drop_expired();
    return filters_.erase(id) != 0;
}

bool FilterStore::with(const std::string& id, const std::function<void(FilterState&)>& use) {
    const std::lock_guard lock(mutex_);
    drop_expired();
    const auto it = filters_.find(id);
    if (it == filters_.end()) return false;
    it->second.used = clock_();
    use(it->second.state);
    return true;
}

void FilterStore::on_pending(const Hash32& hash) {
    const std::lock_guard lock(mutex_);
    for (auto& [id, entry] : filters_) {
        auto* pending = std::get_if<PendingFilterState>(&entry.state);
        if (pending == nullptr) continue;
        if (pending->hashes.size() >= kPendingMax) pending->hashes.erase(pending->hashes.begin());
        pending->hashes.push_back(hash);
    }
}

void FilterStore::drop_expired() {
    const auto now = clock_();
    std::erase_if(filters_, [now](const auto& entry) { return now - entry.second.used > kLife; });
}

}  // namespace retrace::node::rpc
