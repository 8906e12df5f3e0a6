// SPDX-License-Identifier: MIT
// A page of the state tree: what the data base stores of four levels. Where a subtree holds few leaves, its
// page holds them all and nothing lies below; else the page holds the sixteen hashes of its lowest level. The
// nodes between are computed: hashing them costs less than reading them. SPEC 5.4.5
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
/// Leaves that one page takes. The layout follows from the leaves alone, so this is a part of the format.
inline constexpr std::size_t kBucketMax = 32;

/// What is known of a subtree without looking into it.
struct Subtree {
    std::uint8_t count = 0;  ///< Leaves in it; kMany: more than kBucketMax.
    Hash32 hash;             ///< By the rule of merkle 5.2; zero when there is none.
    bool operator==(const Subtree&) const = default;
};
inline constexpr std::uint8_t kMany = kBucketMax + 1;
/// Depth of the deepest top: its sixteen places have one key each, so nothing lies below.
inline constexpr std::uint16_t kPageDepthMax = merkle::kSparseDepthMax - kPageLevels;

using Leaves = std::span<const merkle::SparseLeaf>;
using Bucket = std::vector<merkle::SparseLeaf>;  ///< At most kBucketMax, keys ascending. Empty: no page.
/// kMany leaves together, by the four bits below the page's top.
using Branch = std::array<Subtree, kPlaces>;
using TreePage = std::variant<Bucket, Branch>;

Bytes encode_page(const TreePage& page);
/// nullopt: these bytes are no page.
std::optional<TreePage> decode_page(View bytes);

/// Four bits of a key, from bit `depth` (a multiple of four) on: its place in the branch whose top is there.
std::size_t place_of(const Hash32& key, std::uint16_t depth) noexcept;
inline std::size_t place_of(const merkle::SparseLeaf& leaf, std::uint16_t depth) noexcept {
    return place_of(leaf.key, depth);
}
inline std::size_t place_of(const merkle::SparseUpdate& update, std::uint16_t depth) noexcept {
    return place_of(update.first, depth);
}
/// The first of `items` (not empty, keys ascending) that share a place.
template <class Item>
std::span<const Item> first_group(std::span<const Item> items, std::uint16_t depth) {
    const std::size_t place = place_of(items.front(), depth);
    const auto end = std::partition_point(items.begin(), items.end(),
                                          [&](const Item& item) { return place_of(item, depth) == place; });
    return items.first(static_cast<std::size_t>(end - items.begin()));
}
/// Leaves of both together, at most kMany.
std::uint8_t add_counts(std::uint8_t a, std::uint8_t b) noexcept;

/// Of a page whose top is at `depth`, what lies under each place.
Branch places_of(const TreePage& page, std::uint16_t depth);
/// The subtree of leaves that share the first `depth` bits.
Subtree fold(Leaves leaves, std::uint16_t depth);
/// The subtree over 1, 2, 4, 8 or 16 neighbouring places.
Subtree fold(std::span<const Subtree> places);

/// The same of two contents; what they have in common is hashed once.
struct Folded {
    Subtree before, after;
};
Folded fold_both(std::span<const Subtree> before, std::span<const Subtree> after);

/// What turns page `now` back into `before`. Laid on `before` itself it changes nothing, so it may be applied
/// to a page of which nobody knows whether it was written.
Bytes patch_of(const TreePage& before, const TreePage& now);
/// nullopt: the patch is none, or is not of this page.
std::optional<TreePage> patched(TreePage page, View patch);

}  // namespace retrace::ledger
