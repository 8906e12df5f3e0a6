// SPDX-License-Identifier: MIT
// An ordered key-value store: the one thing the ledger asks of a disk.
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

/// Puts and deletes that happen together or not at all; later ones win.
struct Batch {
    struct Op {
        Bytes key;
        std::optional<Bytes> value;  ///< nullopt deletes.
    };
    std::vector<Op> ops;

    void put(Bytes key, Bytes value) { ops.push_back({std::move(key), std::move(value)}); }
    void erase(Bytes key) { ops.push_back({std::move(key), std::nullopt}); }
};

/// Reads may come from any thread, also while one thread writes; each sees a batch whole or not at all.
class Store {
public:
    virtual ~Store() = default;
    virtual std::optional<Bytes> get(View key) const = 0;
    /// The same for many keys, ascending and none twice: called for each that is there, in order. Values may be of
    /// different batches where one is written meanwhile.
    using VisitOne = std::function<void(std::size_t index, View value)>;
    virtual void get_many(std::span<const Bytes> keys, const VisitOne& visit) const;
    /// With `sync` the batch is on disk when this returns. After an Error nobody knows whether it is: the
    /// caller stops and reads the store anew.
    virtual Status<> write(const Batch& batch, bool sync) = 0;

    /// Called with key and value; false ends the scan.
    using Visit = std::function<bool(View key, View value)>;
    /// Visits the keys that start with `prefix` and are ≥ `from` (itself with that prefix), in ascending
    /// order, at most `limit` of them.
    virtual void scan(View prefix, View from, std::size_t limit, const Visit& visit) const = 0;
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
