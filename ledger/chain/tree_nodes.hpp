// SPDX-License-Identifier: MIT
// The state tree's nodes in the database, at the tip and at past heights. SPEC 5.4.5
#pragma once

#include <array>
#include <functional>
#include <map>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/tree_page.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

/// Page key → patch that turns the page back into the previous one.
using PagePatches = std::map<Bytes, Bytes>;

/// Nodes read through pages. It caches every page; single-threaded, for one proof.
class PagedNodes final : public merkle::NodeStore {
public:
    /// Returns nullopt if the stored bytes are not a valid page.
    using ReadPage = std::function<std::optional<TreePage>(const Bytes& page_key)>;
    explicit PagedNodes(ReadPage read) : read_(std::move(read)) {}

    /// Called for nodes on a path from the root down, as the tree does. A page that cannot be read has no nodes.
    std::optional<Bytes> get(const Bytes& store_key) const override;

private:
    const std::optional<TreePage>& page(const merkle::NodePath& top) const;
    merkle::SparseNode node_at(const merkle::NodePath& path, const merkle::NodePath& top) const;

    ReadPage read_;
    mutable std::map<Bytes, std::optional<TreePage>> pages_;
};

/// Nodes after the tip. May be called from any thread.
PagedNodes tip_nodes(const Store& store);
/// Nodes after block `height`, for a proof of `leaf_key`: those of the tip with the changes of later blocks undone.
/// Only one of these blocks' records (megabytes each when blocks are full) is in memory at a time, and only the part on
/// the leaf's path is kept; `meter` is called before each with its size. Returns nullopt if `meter` ended the work or
/// the record of a block in (height, tip] is missing. `store` and `meter` outlive the nodes.
std::optional<PagedNodes> past_nodes(const Store& store, std::uint64_t height, std::uint64_t tip,
                                     const Hash32& leaf_key, const WorkMeter& meter);

}  // namespace retrace::ledger
