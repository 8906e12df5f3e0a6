// SPDX-License-Identifier: MIT
// The pages of the state tree that a change will touch, read before the change: level by level, all of a
// level in one call, which costs a data base about half of what one call a page does.
#pragma once

#include <span>
#include <vector>

#include "ledger/chain/tree_nodes.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

/// A page while it is changed.
struct OpenPage {
    Bytes key;
    Bytes old;
    PageSlots nodes;
};

class PagesAhead {
public:
    /// Nothing is read ahead.
    PagesAhead() = default;
    /// Reads the page at `depth` (a page's top) under which all `updates` lie, and those below it that they
    /// lead to. `updates` is not empty, its keys ascend.
    PagesAhead(const Store& store, std::uint16_t depth, std::span<const merkle::SparseUpdate> updates);

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

}  // namespace retrace::ledger
