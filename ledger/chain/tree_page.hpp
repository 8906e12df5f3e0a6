// SPDX-License-Identifier: MIT
// A page of the state tree: the database's unit of storage for four levels. The page of a subtree with few leaves holds
// them all, and no page lies below it; otherwise the page holds the sixteen hashes of its lowest level. The nodes
// between are computed, because hashing them costs less than reading them. SPEC 5.4.5
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <variant>
#include <vector>

#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {

inline constexpr std::uint16_t kPageLevels = 4;
inline constexpr std::size_t kPlaces = std::size_t{1} << kPageLevels;
/// Most leaves that one page holds. The layout follows from the leaves alone, so this is part of the format.
inline constexpr std::size_t kBucketMax = 32;

/// Summary of a subtree.
struct Subtree {
    std::uint8_t count = 0;  ///< Its number of leaves; kMany: more than kBucketMax.
    Hash32 hash;             ///< By the rule of merkle 5.2; zero if it is empty.
    bool operator==(const Subtree&) const = default;
};
inline constexpr std::uint8_t kMany = kBucketMax + 1;
/// Depth of the deepest top: each of its sixteen places has one key, so no page lies below.
inline constexpr std::uint16_t kPageDepthMax = merkle::kSparseDepthMax - kPageLevels;

using Leaves = std::span<const merkle::SparseLeaf>;
using Bucket = std::vector<merkle::SparseLeaf>;  ///< At most kBucketMax, keys ascending. Empty: no page.
/// A subtree with kMany leaves, split by the four bits below the page's top.
using Branch = std::array<Subtree, kPlaces>;
using TreePage = std::variant<Bucket, Branch>;

Bytes encode_page(const TreePage& page);
/// Returns nullopt if the bytes are not a valid page.
std::optional<TreePage> decode_page(View bytes);

/// Four bits of a key from bit `depth` (a multiple of four): its place in the branch with its top there.
std::size_t place_of(const Hash32& key, std::uint16_t depth) noexcept;
inline std::size_t place_of(const merkle::SparseLeaf& leaf, std::uint16_t depth) noexcept {
    return place_of(leaf.key, depth);
}
inline std::size_t place_of(const merkle::SparseUpdate& update, std::uint16_t depth) noexcept {
    return place_of(update.first, depth);
}
/// The leading `items` (not empty, keys ascending) that share a place.
template <class Item>
std::span<const Item> first_group(std::span<const Item> items, std::uint16_t depth) {
    const std::size_t place = place_of(items.front(), depth);
    const auto end = std::partition_point(items.begin(), items.end(),
                                          [&](const Item& item) { return place_of(item, depth) == place; });
    return items.first(static_cast<std::size_t>(end - items.begin()));
}
/// Sum of two leaf counts, capped at kMany.
std::uint8_t add_counts(std::uint8_t a, std::uint8_t b) noexcept;

/// The subtrees at each place of a page whose top is at `depth`.
Branch places_of(const TreePage& page, std::uint16_t depth);
/// The subtree of leaves that share the first `depth` bits.
Subtree fold(Leaves leaves, std::uint16_t depth);
/// The subtree over 1, 2, 4, 8 or 16 neighbouring places.
Subtree fold(std::span<const Subtree> places);

/// Folds of two contents; subtrees that both have in common are hashed once.
struct Folded {
    Subtree before, after;
};
Folded fold_both(std::span<const Subtree> before, std::span<const Subtree> after);

/// Returns the patch that turns page `now` back into `before`. Applied to `before` itself it changes nothing, so it may
/// be applied even if it is unknown whether the page was written.
Bytes patch_of(const TreePage& before, const TreePage& now);
/// Returns nullopt if the patch is invalid or does not belong to this page.
std::optional<TreePage> patched(TreePage page, View patch);

}  // namespace retrace::ledger
