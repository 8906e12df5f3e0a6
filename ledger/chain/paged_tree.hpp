// SPDX-License-Identifier: MIT
// Changes of the state tree, page by page: the same tree as merkle::SparseTree, with one read and one write for each
// page of four levels instead of one for each node, and its sixteen subtrees worked on side by side. SPEC 5.4.5
#pragma once

#include <vector>

#include "ledger/chain/tree_nodes.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

struct TreeChange {
    Hash32 root;
    PageWrites pages;      ///< Pages that changed.
    PageWrites old_pages;  ///< The same keys; what stood there.
};

/// The tree with this `root` after `updates` (keys strictly ascending, asserted). Every node that is read is checked
/// against the hash that its parent names. `store` holds the tip's pages; `threads` = 0 takes as many as the machine
/// has. The outcome does not depend on their number.
Result<TreeChange, merkle::SparseError> change_tree(const Store& store, const Hash32& root,
                                                    const std::vector<merkle::SparseUpdate>& updates,
                                                    unsigned threads = 0);

}  // namespace retrace::ledger
