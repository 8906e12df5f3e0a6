// SPDX-License-Identifier: MIT
// The state tree's nodes in the data base: as they are now, and as they were. Nodes are stored in pages of four
// levels, because a data base with a key for every node spends its time on keys. SPEC 5.4.5
#pragma once

#include <array>
#include <functional>
#include <map>

#include "ledger/storage/store.hpp"
#include "merkle/tree/sparse_node.hpp"

namespace retrace::ledger {

/// Page key → page, empty bytes meaning none.
using PageWrites = std::map<Bytes, Bytes>;

inline constexpr std::uint16_t kPageLevels = 4;
/// The nodes of a page, level by level from its top: the children of node i are 2 i + 1 and 2 i + 2.
using PageSlots = std::array<merkle::SparseNode, (1U << kPageLevels) - 1>;
/// Empty bytes: a page without nodes. A page that does not decode is asserted against: the data base holds no other.
Bytes encode_page(const PageSlots& nodes);
PageSlots decode_page(View page);

/// Nodes read through pages. Keeps every page it read; one thread, for one block or one proof.
class PagedNodes final : public merkle::NodeStore {
public:
    using ReadPage = std::function<std::optional<Bytes>(const Bytes& page_key)>;
    explicit PagedNodes(ReadPage read) : read_(std::move(read)) {}

    std::optional<Bytes> get(const Bytes& store_key) const override;

private:
    const Bytes& page(Bytes page_key) const;

    ReadPage read_;
    mutable std::map<Bytes, Bytes> pages_;
    // The tree walks depth first, so the page last used at each level is nearly always the next one asked for.
    mutable std::array<const std::pair<const Bytes, Bytes>*, merkle::kSparseDepthMax / kPageLevels + 1> last_{};
};

/// Nodes after the tip. Any thread.
PagedNodes tip_nodes(const Store& store);
/// Pages after block `height`: those of the tip with the changes of the blocks after it taken back. nullopt when the
/// record of a block in (height, tip] is missing.
std::optional<PagedNodes> past_nodes(const Store& store, std::uint64_t height, std::uint64_t tip);

}  // namespace retrace::ledger
