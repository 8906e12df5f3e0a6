// SPDX-License-Identifier: MIT
// Changes of the state tree, page by page: the same tree as merkle::SparseTree, with one read and one write
// for each page instead of one for each node, and its sixteen subtrees worked on side by side. SPEC 5.4.5
#pragma once

#include <vector>

#include "ledger/chain/page_prefetch.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

struct TreeChange {
    Hash32 root;
    std::vector<PageChange> pages;  ///< Those that changed, keys ascending.
};

/// The tree with this `root` after `updates` (keys strictly ascending, asserted). Every page that is read is
/// checked against the hash that its parent names. `source` has the tip's pages, `ahead` any of them that
/// were read already. `threads` = 0 takes as many as the machine has. The outcome depends on none of these.
Result<TreeChange, merkle::SparseError> change_tree(const PageSource& source, const Hash32& root,
                                                    const std::vector<merkle::SparseUpdate>& updates,
                                                    unsigned threads = 0, TreeAhead ahead = {});

}  // namespace retrace::ledger
