// SPDX-License-Identifier: MIT
// The pages of the state tree that a change will touch, read before the change: level by level, all of a
// level in one call, which costs a data base about half of what one call a page does.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "ledger/chain/page_source.hpp"

namespace retrace::ledger {

class PagePrefetch {
public:
    /// Nothing is read ahead.
    PagePrefetch() = default;
    /// Reads the page at `depth` (a page's top) under which all `keys` lie, and those below it that they lead
    /// to. The keys ascend.
    PagePrefetch(const PageSource& source, std::uint16_t depth, std::span<const Hash32> keys);

    bool empty() const noexcept { return levels_.empty(); }
    /// Moves the page out; nullptr when it was not read ahead. Pages of one depth are asked for in ascending
    /// order.
    std::unique_ptr<OpenPage> take(const merkle::NodePath& path);

private:
    struct Level {
        std::vector<std::unique_ptr<OpenPage>> pages;
        std::size_t next = 0;
    };
    std::uint16_t top_ = 0;
    std::vector<Level> levels_;
};

/// For each of the sixteen subtrees below the root's page, so that they can be worked on side by side.
using TreeAhead = std::array<PagePrefetch, kPlaces>;
/// The keys ascend, none twice. Begins no further subtree once `stop` is set.
TreeAhead read_ahead(const PageSource& source, std::span<const Hash32> keys, const std::atomic<bool>& stop);

}  // namespace retrace::ledger
