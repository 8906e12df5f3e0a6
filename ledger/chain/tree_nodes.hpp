// SPDX-License-Identifier: MIT
// The state tree's nodes in the data base: as they are now, and as they were. SPEC 5.4.5
#pragma once

#include <array>
#include <functional>
#include <map>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/tree_page.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

/// Page key → how its page is turned back into the one before.
using PagePatches = std::map<Bytes, Bytes>;

/// Nodes read through pages. Keeps every page it read; one thread, for one proof.
class PagedNodes final : public merkle::NodeStore {
public:
    /// nullopt: there is something that is no page.
    using ReadPage = std::function<std::optional<TreePage>(const Bytes& page_key)>;
    explicit PagedNodes(ReadPage read) : read_(std::move(read)) {}

    /// Asked for nodes on a way from the root down, as the tree does. A page that cannot be read has no
    /// nodes.
    std::optional<Bytes> get(const Bytes& store_key) const override;

private:
    const std::optional<TreePage>& page(const merkle::NodePath& top) const;
    merkle::SparseNode node_at(const merkle::NodePath& path, const merkle::NodePath& top) const;

    ReadPage read_;
    mutable std::map<Bytes, std::optional<TreePage>> pages_;
};

/// Nodes after the tip. Any thread.
PagedNodes tip_nodes(const Store& store);
/// Nodes after block `height`, for a proof of `leaf_key`: those of the tip with the changes of the blocks
/// after it taken back. Of these blocks' records, megabytes each when blocks are full, one is in memory at a
/// time, and only what concerns the leaf's way is kept; `go_on` is asked before each and told its size.
/// nullopt when `go_on` said no, or when the record of a block in (height, tip] is missing. `store` and
/// `go_on` outlive the nodes.
std::optional<PagedNodes> past_nodes(const Store& store, std::uint64_t height, std::uint64_t tip,
                                     const Hash32& leaf_key, const GoOn& go_on);

}  // namespace retrace::ledger
