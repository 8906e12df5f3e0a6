// SPDX-License-Identifier: MIT
// The state tree: a compact binary tree over 256-bit keys. An empty subtree is 32 zero bytes, a subtree with one leaf
// is that leaf, an inner node is H(01 ‖ left ‖ right). The root depends on the contents alone, not on how they came
// about. Keys must be hashes: an attacker who chooses keys bit by bit makes the tree 256 levels deep. SPEC 5.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "merkle/base/result.hpp"
#include "merkle/tree/sparse_node.hpp"
#include "merkle/tree/sparse_proof.hpp"

namespace retrace::merkle {

/// Key and new value hash; nullopt removes the key (which need not be there).
using SparseUpdate = std::pair<Hash32, std::optional<Hash32>>;

/// A tree of which only the root is in memory; the nodes are read from `store` as they are needed, each checked
/// against the hash its parent names. Neither reads nor writes anything else, and changes nothing itself.
class SparseTree {
public:
    /// `store` outlives the tree. A new tree has the root of 32 zero bytes.
    SparseTree(const NodeStore& store, const Hash32& root) : store_(store), root_(root) {}

    struct Change {
        Hash32 root;
        NodeWrites writes;  ///< To be applied to the store as one batch; only nodes that change.
    };

    const Hash32& root() const noexcept { return root_; }
    /// The tree after `updates` (keys strictly ascending, asserted). Reads and hashes O(updates × depth) nodes.
    Result<Change, SparseError> apply(const std::vector<SparseUpdate>& updates) const;
    /// The value hash under `key`, nullopt if the key is absent.
    Result<std::optional<Hash32>, SparseError> find(const Hash32& key) const;
    /// Presence or absence, whichever holds. With `find` it makes what verify_sparse takes.
    Result<SparseProof, SparseError> prove(const Hash32& key) const;

private:
    const NodeStore& store_;
    Hash32 root_;
};

}  // namespace retrace::merkle
