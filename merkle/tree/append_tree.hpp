// SPDX-License-Identifier: MIT
// An append-only tree for blocks, receipts and logs. It has the node rule and the shape of TileTree, so equal leaves
// have equal roots and a proof is a MultiProof, checked by `verify`. SPEC 4.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/codec.hpp"
#include "merkle/base/result.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::merkle {

Hash32 append_leaf(View content);  ///< H(09 ‖ content)

/// A complete node: its 2^level leaves have all arrived, so it never changes again.
struct AppendNode {
    std::uint32_t level = 0;
    std::uint64_t index = 0;
    Hash32 hash;
    bool operator==(const AppendNode&) const = default;
};

/// Storage of complete nodes, needed only to prove old leaves.
class AppendNodeStore {
public:
    virtual ~AppendNodeStore() = default;
    virtual std::optional<Hash32> get(std::uint32_t level, std::uint64_t index) const = 0;
};

/// The tree as its length and the roots of its complete subtrees, one for each bit of the length: at most 64 hashes.
class AppendTree {
public:
    /// Adds a leaf (hashed already) and returns the nodes that it completes, the leaf first: one more than the
    /// number of trailing ones of the old length.
    std::vector<AppendNode> append(const Hash32& leaf);

    std::uint64_t size() const noexcept { return size_; }
    Hash32 root() const;

    /// Encodes the u64 length, then the peaks from the highest to the lowest.
    void encode_to(Writer& out) const;
    /// Reads exactly as many peaks as the length has one-bits; `in` keeps any error.
    static AppendTree decode(Reader& in);

    bool operator==(const AppendTree&) const = default;

private:
    std::uint64_t size_ = 0;
    std::vector<Hash32> peaks_;  // Highest first.
};

/// Returns the proof of leaf `index` in the tree as it was at `size` leaves, from the complete nodes of that tree or of
/// any later one; nullopt if the store lacks a node or index ≥ size.
std::optional<MultiProof> prove_append(const AppendNodeStore& store, std::uint64_t size, std::uint64_t index);

}  // namespace retrace::merkle
