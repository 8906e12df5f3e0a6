// SPDX-License-Identifier: MIT
// An ordered key-value store: the ledger's only interface to a disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger {

/// Puts and deletes that are applied together or not at all; later ones win.
struct Batch {
    struct Op {
        Bytes key;
        std::optional<Bytes> value;  ///< nullopt deletes.
    };
    std::vector<Op> ops;

    void put(Bytes key, Bytes value) { ops.push_back({std::move(key), std::move(value)}); }
    void erase(Bytes key) { ops.push_back({std::move(key), std::nullopt}); }
};

/// Reads may come from any thread, even while one thread writes; each read sees a batch completely or not at all.
class Store {
public:
    virtual ~Store() = default;
    virtual std::optional<Bytes> get(View key) const = 0;
    /// Reads many keys, ascending and distinct: `visit` is called in order for each key that exists. The values may
    /// come from different batches if one is written meanwhile.
    using VisitOne = std::function<void(std::size_t index, View value)>;
    virtual void get_many(std::span<const Bytes> keys, const VisitOne& visit) const;
    /// With `sync` the batch is on disk when this returns. After an Error it is unknown whether it is: the caller must
    /// stop and reopen the store.
    virtual Status<> write(const Batch& batch, bool sync) = 0;

    /// Called with key and value; false ends the scan.
    using Visit = std::function<bool(View key, View value)>;
    /// Visits the keys that start with `prefix` and are ≥ `from` (which itself has that prefix), in ascending order,
    /// at most `limit` of them.
    virtual void scan(View prefix, View from, std::size_t limit, const Visit& visit) const = 0;

    /// A view of the store as it is now, which later writes do not change; writing to it is an Error. It may outlive the
    /// store, and keeps the store's directory locked. Without an override it is a copy in memory.
    virtual std::shared_ptr<const Store> frozen() const;
};

class MemoryStore final : public Store {
public:
    std::optional<Bytes> get(View key) const override;
    Status<> write(const Batch& batch, bool sync) override;
    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override;

private:
    struct Less {
        using is_transparent = void;
        bool operator()(View a, View b) const;
    };
    mutable std::shared_mutex mutex_;
    std::map<Bytes, Bytes, Less> values_;
};

}  // namespace retrace::ledger
