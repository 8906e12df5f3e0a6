// SPDX-License-Identifier: MIT
// The two ways to narrow a dispute: k-ary search over a cumulative sequence, and descent in a Merkle tree.
#pragma once

#include <span>

#include "verifier/game/game.hpp"

namespace retrace::verifier {

/// Starts at the root of a tree over `leaves` > 0 leaves and moves down past nodes that were promoted unchanged.
Descent descend_from(std::uint64_t leaves, const Hash32& root);
/// Whether `hashes` are the children that the solver must post: their count is right and they hash to the node.
bool are_children(const Descent& descent, std::span<const Hash32> hashes);
/// Moves to the child that the challenger names, and down past promoted nodes. `index` is below the count.
Descent descend_to(const Descent& descent, std::uint64_t index, const Hash32& child);

/// The roots of the subtrees left of the path from `descent` to child `index` of `posted`, highest first.
std::vector<Hash32> left_of_path(const Descent& descent, std::span<const Hash32> posted, std::uint64_t index);

/// The remaining search when the first disputed hash is `index` of `posted` (posted.size() stands for `high`).
Search narrow(const Search& search, std::span<const Hash32> posted, std::uint64_t index);

}  // namespace retrace::verifier
