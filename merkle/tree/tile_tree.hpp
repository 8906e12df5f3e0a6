// SPDX-License-Identifier: MIT
// The binary tree under every commitment (merkle 3): node = H(01 ‖ left ‖ right), an odd node is promoted
// unchanged, the root of no leaves is 32 zero bytes. The caller hashes the leaves, each under the domain tag of its
// content.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::merkle {

/// Domain tags: the first byte of every hashed message in this project. Never reused.
enum class Tag : std::uint8_t {
    tile = 0x00,
    node = 0x01,
    tensor = 0x02,
    state = 0x03,
    state_leaf = 0x04,
    program = 0x05,
    trace_leaf = 0x06,   ///< H(06 ‖ op index u32 LE ‖ output tensor root)
    record_leaf = 0x07,  ///< H(07 ‖ index u32 LE ‖ encoded record): op, tensor and constant records of a program
    sparse_leaf = 0x08,  ///< H(08 ‖ key 32 ‖ H(value))
    append_leaf = 0x09,  ///< H(09 ‖ bytes)
    plan = 0x0a,
};

Hash32 tile_leaf(View tile);                                      ///< H(00 ‖ tile bytes)
Hash32 node_hash(const Hash32& left, const Hash32& right);        ///< H(01 ‖ left ‖ right)
Hash32 indexed_leaf(Tag tag, std::uint32_t index, View content);  ///< H(tag ‖ index u32 LE ‖ content)

/// Number of levels of a tree over `leaves` leaves, leaf level included: 0 → 0, 1 → 1, 2 → 2, 3 → 3, 5 → 4.
std::uint32_t level_count(std::uint64_t leaves) noexcept;
/// Number of nodes at `level` (0 = leaves).
std::uint64_t level_width(std::uint64_t leaves, std::uint32_t level) noexcept;

/// Returns the root of the tree over `leaves`; for a run of at most 2^h aligned leaves it is the node at level h.
Hash32 tree_root(std::span<const Hash32> leaves);

struct IndexedLeaf {
    std::uint64_t index = 0;
    Hash32 hash;
    bool operator==(const IndexedLeaf&) const = default;
};

/// Sibling hashes that lead from a set of leaves to the root, level by level from the leaves, left to right.
struct MultiProof {
    std::vector<Hash32> siblings;
    bool operator==(const MultiProof&) const = default;
};

enum class ProofError : std::uint8_t {
    no_leaves = 1,     ///< An empty set of leaves proves nothing.
    bad_order = 2,     ///< Indices not strictly ascending.
    out_of_range = 3,  ///< An index ≥ the leaf count.
    too_short = 4,     ///< Siblings are missing.
    too_long = 5,      ///< Siblings are left over.
    wrong_root = 6,
};
std::string_view slug(ProofError error) noexcept;

/// A tree with all its levels in memory.
class TileTree {
public:
    TileTree() = default;
    explicit TileTree(std::vector<Hash32> leaves);

    std::uint64_t leaf_count() const noexcept { return levels_.empty() ? 0 : levels_[0].size(); }
    std::uint32_t levels() const noexcept { return static_cast<std::uint32_t>(levels_.size()); }
    Hash32 root() const;
    /// Returns node `index` of `level` (0 = leaves); both must be in range (asserted).
    const Hash32& node(std::uint32_t level, std::uint64_t index) const;
    /// Replaces a leaf and rehashes its path.
    void update(std::uint64_t index, const Hash32& leaf);
    /// Returns the proof for `indices`, which must be strictly ascending and in range (asserted).
    MultiProof prove(std::span<const std::uint64_t> indices) const;

private:
    std::vector<std::vector<Hash32>> levels_;
};

/// Returns the root to which `leaves` (strictly ascending indices) and `proof` lead in a tree of `leaf_count` leaves. A
/// proof with missing or surplus siblings is an error, so each proof has exactly one encoding.
Result<Hash32, ProofError> root_of(std::uint64_t leaf_count, std::span<const IndexedLeaf> leaves,
                                   const MultiProof& proof);
/// As root_of, and compares the result with `root`.
Status<ProofError> verify(const Hash32& root, std::uint64_t leaf_count, std::span<const IndexedLeaf> leaves,
                          const MultiProof& proof);

}  // namespace retrace::merkle
