// SPDX-License-Identifier: MIT
// The state tree's nodes in the data base: as they are now, and as they were.
#pragma once

#include <vector>

#include "ledger/storage/store.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

/// Nodes after the tip; remembers what it read, so that a commit knows what it overwrites without reading
/// again.
class TipNodes final : public merkle::NodeStore {
public:
    explicit TipNodes(const Store& store) : store_(store) {}

    std::optional<Bytes> get(const Bytes& store_key) const override;
    /// What stood in the places of `writes`. The tree reads whatever it replaces, so nothing is read here.
    merkle::NodeWrites old_of(const merkle::NodeWrites& writes) const;

private:
    const Store& store_;
    mutable merkle::NodeWrites seen_;
};

/// Nodes after block `height`: those of the tip with the changes of the blocks after it taken back.
class PastNodes final : public merkle::NodeStore {
public:
    /// nullopt when the record of a block in (height, tip] is missing.
    static std::optional<PastNodes> load(const Store& store, std::uint64_t height, std::uint64_t tip);
    std::optional<Bytes> get(const Bytes& store_key) const override;

private:
    explicit PastNodes(const Store& store) : store_(store) {}
    const Store& store_;
    std::vector<merkle::NodeWrites> before_;  // of the heights after `height`, ascending
};

}  // namespace retrace::ledger
