// SPDX-License-Identifier: MIT
#include "node/net/connection_table.hpp"

#include <algorithm>

namespace retrace::node {

ConnectionTable::Place ConnectionTable::enter(Id id, const std::string& address, Time now) {
    const Place place = place_for(address);
    if (!place.free) return place;
    const auto own = counts_.try_emplace(address).first;
    entries_.emplace(id, Entry{own, true, now});
    ++own->second;
    if (place.evicted) leave(*place.evicted);  // Last: an allocation that fails above costs nobody a place.
    return place;
}

void ConnectionTable::leave(Id id) noexcept {
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return;
    const auto address = entry->second.address;
    entries_.erase(entry);
    if (--address->second == 0) counts_.erase(address);
}

bool ConnectionTable::is_busy(Id id) const noexcept {
    const auto entry = entries_.find(id);
    return entry != entries_.end() && !entry->second.waits;
}

std::size_t ConnectionTable::count(const std::string& address) const noexcept {
    const auto found = counts_.find(address);
    return found == counts_.end() ? 0 : found->second;
}

void ConnectionTable::set(Id id, bool waits, Time now) noexcept {
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return;
    entry->second.waits = waits;
    entry->second.since = now;
}

std::size_t ConnectionTable::weight(const std::string& address, std::size_t connections) const noexcept {
    if (!address.empty()) return connections;
    return connections - std::min(connections, limits_.reserved);
}

template <class Chosen>
std::optional<ConnectionTable::Id> ConnectionTable::longest(const Chosen& is_chosen, bool also_busy) const {
    auto best = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        const Entry& entry = it->second;
        if ((!entry.waits && !also_busy) || !is_chosen(*entry.address)) continue;
        const bool better = best == entries_.end() ||
                            (entry.waits == best->second.waits ? entry.since < best->second.since : entry.waits);
        if (better) best = it;
    }
    return best == entries_.end() ? std::nullopt : std::optional(best->first);
}

ConnectionTable::Place ConnectionTable::place_for(const std::string& address) const {
    const std::size_t own = count(address);
    const bool crowded = own >= limits_.per_address;
    if (!crowded && entries_.size() < limits_.connections) return {true};
    std::optional<Id> evicted;
    if (!crowded) {
        std::size_t most = 0;
        for (const auto& [name, connections] : counts_) most = std::max(most, weight(name, connections));
        // The newcomer's address must not hold more afterwards than the other one did. A busy connection is cut off
        // only if it holds less: otherwise two addresses would take turns at ending each other's requests.
        const std::size_t then = weight(address, own + 1);
        const auto holds_most = [&](const auto& other) { return weight(other.first, other.second) == most; };
        if (most > 0 && then <= most) evicted = longest(holds_most, then < most);
    }
    if (!evicted) {
        // This machine's clients are different programs, e.g. an agent and a wallet, so none of them is refused.
        const auto is_own = [&](const auto& other) { return other.first == address; };
        evicted = longest(is_own, address.empty());
    }
    return {evicted.has_value(), evicted};
}

}  // namespace retrace::node
