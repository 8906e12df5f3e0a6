// SPDX-License-Identifier: MIT
// Typed loads and stores of records in slots.
#pragma once

#include <map>
#include <optional>

#include "contracts/records/keys.hpp"
#include "ledger/state/state.hpp"
#include "market/record.hpp"

namespace retrace::contracts {

template <class T>
std::optional<T> load(const ledger::StateView& state, const keys::Key& key) {
    const Bytes bytes = state.slot(address_of(key.contract), key.bytes);
    if (bytes.empty()) return std::nullopt;
    auto record = market::decode_record<T>(bytes);
    if (!record) return std::nullopt;
    return std::move(*record);
}
/// Loads a record that must exist because the rules wrote it (asserted).
template <class T>
T must_load(const ledger::StateView& state, const keys::Key& key) {
    auto record = load<T>(state, key);
    ensure(record.has_value(), "a record that another one names exists");
    return std::move(*record);
}
template <class T>
void store(ledger::State& state, const keys::Key& key, const T& record) {
    state.set_slot(address_of(key.contract), key.bytes, market::encode_record(record));
}
inline void remove(ledger::State& state, const keys::Key& key) {
    state.set_slot(address_of(key.contract), key.bytes, {});
}

/// 13.7.1: when a run stopped, and whether it had missed a checkpoint before.
struct Stop {
    std::uint64_t height = 0;
    bool was_late = false;
    static auto tie(auto& s) { return std::tie(s.height, s.was_late); }
};

/// 14.10: auditors of an audit that were drawn, and those among them that had used up their reports.
struct DrawnSeats {
    std::uint64_t drawn = 0, released = 0;
    static auto tie(auto& s) { return std::tie(s.drawn, s.released); }
};

/// 13.7.1: a run of a task and the segment that it was convicted of.
struct ConvictedSegment {
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    static auto tie(auto& c) { return std::tie(c.run, c.segment); }
};

/// Records that hold one value or one list.
struct Counter {
    std::uint64_t value = 0;
    static auto tie(auto& c) { return std::tie(c.value); }
};
struct Amount {
    ledger::U256 value;
    static auto tie(auto& a) { return std::tie(a.value); }
};
struct Digest {
    Hash32 value;
    static auto tie(auto& d) { return std::tie(d.value); }
};
template <class T>
struct ListOf {
    std::vector<T> items;
    static auto tie(auto& l) { return std::tie(l.items); }
};

inline std::uint64_t counter(const ledger::StateView& state, const keys::Key& key) {
    return load<Counter>(state, key).value_or(Counter{}).value;
}
/// Increments the counter and returns its new value: ids begin at 1.
inline std::uint64_t next_id(ledger::State& state, const keys::Key& key) {
    const Counter next{counter(state, key) + 1};
    store(state, key, next);
    return next.value;
}

/// Lists are kept ascending without repetition; an empty list has no slot.
template <class T>
std::vector<T> list(const ledger::StateView& state, const keys::Key& key) {
    return load<ListOf<T>>(state, key).value_or(ListOf<T>{}).items;
}
template <class T>
void store_list(ledger::State& state, const keys::Key& key, std::vector<T> items) {
    // A longer list would not decode and its items would be lost; the rules keep every list below this length.
    ensure(items.size() <= market::kRecordListMax, "a list fits into its record");
    if (items.empty())
        remove(state, key);
    else
        store(state, key, ListOf<T>{std::move(items)});
}
template <class T>
void add_to_list(ledger::State& state, const keys::Key& key, const T& item) {
    auto items = list<T>(state, key);
    const auto at = std::lower_bound(items.begin(), items.end(), item);
    if (at != items.end() && *at == item) return;
    items.insert(at, item);
    store_list(state, key, std::move(items));
}
template <class T>
void remove_from_list(ledger::State& state, const keys::Key& key, const T& item) {
    auto items = list<T>(state, key);
    const auto at = std::lower_bound(items.begin(), items.end(), item);
    if (at == items.end() || *at != item) return;
    items.erase(at);
    store_list(state, key, std::move(items));
}

}  // namespace retrace::contracts
