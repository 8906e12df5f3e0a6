// SPDX-License-Identifier: MIT
// Changes the state tree page by page: the same tree as merkle::SparseTree, but with one read and one write for each
// page instead of each node, and with its sixteen subtrees changed in parallel. SPEC 5.4.5
#pragma once

#include <vector>

#include "ledger/chain/page_prefetch.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

struct TreeChange {
    Hash32 root;
    std::vector<PageChange> pages;  ///< Changed pages, keys ascending.
};

/// Applies `updates` (keys strictly ascending, asserted) to the tree with this `root`. Every page that is read is
/// checked against the hash that its parent names. `source` has the tip's pages, `prefetch` those that were prefetched.
/// `threads` = 0: one per hardware thread. The result does not depend on `prefetch` and `threads`.
Result<TreeChange, merkle::SparseError> change_tree(const PageSource& source, const Hash32& root,
                                                    const std::vector<merkle::SparseUpdate>& updates,
                                                    unsigned threads = 0, TreePrefetch prefetch = {});

}  // namespace retrace::ledger
