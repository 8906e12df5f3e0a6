// SPDX-License-Identifier: MIT
// The state tree: a compact binary tree over 256-bit keys. An empty subtree is 32 zero bytes, a subtree with one
// leaf is that leaf, an inner node is H(01 ‖ left ‖ right). The root depends on the contents alone, not on their
// history. Keys must be hashes: an attacker that chooses keys bit by bit could make the tree 256 levels deep. SPEC
// 5.
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

/// A tree with only the root in memory. Nodes are read from `store` on demand, each checked against the hash that its
/// parent names. The tree itself never writes to the store.
class SparseTree {
public:
    /// `store` must outlive the tree. The root of an empty tree is 32 zero bytes.
    SparseTree(const NodeStore& store, const Hash32& root) : store_(store), root_(root) {}

    struct Change {
        Hash32 root;
        NodeWrites writes;  ///< To be applied to the store as one batch; only changed nodes.
    };

    const Hash32& root() const noexcept { return root_; }
    /// Computes the tree after `updates` (keys strictly ascending, asserted). Reads and hashes O(updates × depth)
    /// nodes.
    Result<Change, SparseError> apply(const std::vector<SparseUpdate>& updates) const;
    /// Returns the value hash under `key`, nullopt if the key is absent.
    Result<std::optional<Hash32>, SparseError> find(const Hash32& key) const;
    /// Returns a proof of presence or of absence. Together with `find` it gives the input of verify_sparse.
    Result<SparseProof, SparseError> prove(const Hash32& key) const;

private:
    const NodeStore& store_;
    Hash32 root_;
};

}  // namespace retrace::merkle
