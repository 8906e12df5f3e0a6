// SPDX-License-Identifier: MIT
#include <algorithm>

#include "ledger/storage/store.hpp"

namespace retrace::ledger {

void Store::get_many(std::span<const Bytes> keys, const VisitOne& visit) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (const auto value = get(keys[i])) visit(i, *value);
    }
}

std::shared_ptr<const Store> Store::frozen() const {
    auto copy = std::make_shared<MemoryStore>();
    Batch all;
    scan({}, {}, ~std::size_t{0}, [&](View key, View value) {
        all.put(to_bytes(key), to_bytes(value));
        return true;
    });
    (void)copy->write(all, false);
    return copy;
}

bool MemoryStore::Less::operator()(View a, View b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

std::optional<Bytes> MemoryStore::get(View key) const {
    const std::shared_lock lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
}

Status<> MemoryStore::write(const Batch& batch, bool) {
    const std::unique_lock lock(mutex_);
    for (const Batch::Op& op : batch.ops) {
        if (op.value) {
            values_[op.key] = *op.value;
        } else {
            values_.erase(op.key);
        }
    }
    return Unit{};
}

void MemoryStore::scan(View prefix, View from, std::size_t limit, const Visit& visit) const {
    const std::shared_lock lock(mutex_);
    const View start = Less{}(from, prefix) ? prefix : from;
    for (auto at = values_.lower_bound(start); at != values_.end() && limit > 0; ++at, --limit) {
        const View key = at->first;
        if (key.size() < prefix.size() || !equal(key.first(prefix.size()), prefix)) return;
        if (!visit(key, at->second)) return;
    }
}

}  // namespace retrace::ledger
