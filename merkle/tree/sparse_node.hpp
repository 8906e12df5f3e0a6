// SPDX-License-Identifier: MIT
// Nodes of the sparse tree and their storage keys. SPEC 5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::merkle {

/// Bits of a key, and so the greatest depth of a leaf.
inline constexpr std::uint16_t kSparseDepthMax = 256;

enum class SparseError : std::uint8_t {
    missing_node = 1,    ///< The store lacks a node that its parent names.
    corrupt_node = 2,    ///< A stored node does not decode, or does not hash to what its parent names.
    too_long = 3,        ///< A proof has more siblings than a key has bits.
    misplaced_leaf = 4,  ///< The witness of an absence is the key itself or lies elsewhere.
    needless_leaf = 5,   ///< A proof of presence carries a witness of absence.
    wrong_root = 6,
};
std::string_view slug(SparseError error) noexcept;

/// Returns bit `index` of a key; bit 0 is the most significant bit of the first byte. A 0 leads left.
bool key_bit(const Hash32& key, std::uint16_t index) noexcept;
/// Whether the first `bits` bits are equal.
bool shares_prefix(const Hash32& a, const Hash32& b, std::uint16_t bits) noexcept;

/// The position of a node: the first `depth` bits of `prefix`; the bits after them are zero.
struct NodePath {
    std::uint16_t depth = 0;
    Hash32 prefix;

    NodePath child(bool right) const;
    /// Returns the position of `key`'s path at `depth`.
    static NodePath of(const Hash32& key, std::uint16_t depth);
    /// Returns the node's key in a store: depth u16 big endian, then the ceil(depth / 8) bytes that hold the prefix.
    Bytes store_key() const;

    bool operator==(const NodePath&) const = default;
};

struct SparseLeaf {
    Hash32 key;
    Hash32 value_hash;  ///< SHA-256 of the value; the tree never sees the value.
    bool operator==(const SparseLeaf&) const = default;
};

Hash32 sparse_leaf_hash(const SparseLeaf& leaf);  ///< H(08 ‖ key ‖ value hash)

/// The node at a path: empty, one leaf, or an inner node over at least two leaves.
struct SparseNode {
    enum class Kind : std::uint8_t { empty = 0, inner = 1, leaf = 2 };
    Kind kind = Kind::empty;
    Hash32 left;   ///< Inner: hash of the left child; leaf: the key.
    Hash32 right;  ///< Inner: hash of the right child; leaf: the value hash.

    static SparseNode inner(const Hash32& left, const Hash32& right) { return {Kind::inner, left, right}; }
    static SparseNode leaf(const SparseLeaf& leaf) { return {Kind::leaf, leaf.key, leaf.value_hash}; }
    SparseLeaf as_leaf() const;  ///< The node must be a leaf (asserted).

    /// Returns 32 zero bytes, H(01 ‖ left ‖ right) or H(08 ‖ key ‖ value hash).
    Hash32 hash() const;
    /// Encodes the kind u8 and the two hashes, 65 bytes; no bytes for an empty node.
    Bytes encode() const;
    /// Returns nullopt unless `bytes` are 65 bytes that start with 1 or 2.
    static std::optional<SparseNode> decode(View bytes);

    bool operator==(const SparseNode&) const = default;
};

/// Source of nodes: the ledger's database, or memory.
class NodeStore {
public:
    virtual ~NodeStore() = default;
    /// Returns the bytes last written under `NodePath::store_key`, nullopt if there are none.
    virtual std::optional<Bytes> get(const Bytes& store_key) const = 0;
};

/// The writes of a change: store key → node bytes; empty bytes mean delete.
using NodeWrites = std::map<Bytes, Bytes>;

/// A store in memory, for tests and simulations.
class MemoryNodeStore final : public NodeStore {
public:
    std::optional<Bytes> get(const Bytes& store_key) const override;
    void write(const NodeWrites& writes);
    const std::map<Bytes, Bytes>& nodes() const noexcept { return nodes_; }

private:
    std::map<Bytes, Bytes> nodes_;
};

}  // namespace retrace::merkle
