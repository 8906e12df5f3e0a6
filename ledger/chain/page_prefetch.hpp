// SPDX-License-Identifier: MIT
// Prefetches the pages of the state tree that a change will touch: level by level, one call for each level, which costs
// a database about half as much as one call for each page.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "ledger/chain/page_source.hpp"

namespace retrace::ledger {

class PagePrefetch {
public:
    /// Prefetches nothing.
    PagePrefetch() = default;
    /// Reads the page at `depth` (a page's top) that covers all `keys`, and the pages below it on the paths to them.
    /// The keys ascend.
    PagePrefetch(const PageSource& source, std::uint16_t depth, std::span<const Hash32> keys);

    bool empty() const noexcept { return levels_.empty(); }
    /// Moves the page out; nullptr if it was not prefetched. Pages of one depth must be taken in ascending order.
    std::unique_ptr<OpenPage> take(const merkle::NodePath& path);

private:
    struct Level {
        std::vector<std::unique_ptr<OpenPage>> pages;
        std::size_t next = 0;
    };
    std::uint16_t top_ = 0;
    std::vector<Level> levels_;
};

/// One prefetch for each of the sixteen subtrees below the root's page, so that threads can work on them in parallel.
using TreePrefetch = std::array<PagePrefetch, kPlaces>;
/// The keys are ascending and distinct. Starts no further subtree once `stop` is set.
TreePrefetch prefetch_tree(const PageSource& source, std::span<const Hash32> keys, const std::atomic<bool>& stop);

}  // namespace retrace::ledger
