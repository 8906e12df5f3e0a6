// SPDX-License-Identifier: MIT
#include "merkle/tree/tile_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::merkle {
namespace {

constexpr std::uint64_t parent_width(std::uint64_t width) noexcept { return width / 2 + width % 2; }

}  // namespace

Hash32 tile_leaf(View tile) {
    static constexpr std::uint8_t kTag[] = {static_cast<std::uint8_t>(Tag::tile)};
    return sha256({View(kTag), tile});
}

Hash32 node_hash(const Hash32& left, const Hash32& right) {
    std::array<std::uint8_t, 65> message;
    message[0] = static_cast<std::uint8_t>(Tag::node);
    std::copy(left.bytes.begin(), left.bytes.end(), message.begin() + 1);
    std::copy(right.bytes.begin(), right.bytes.end(), message.begin() + 33);
    return sha256(View(message));
}

Hash32 indexed_leaf(Tag tag, std::uint32_t index, View content) {
    std::array<std::uint8_t, 5> head;
    head[0] = static_cast<std::uint8_t>(tag);
    store_u32(head.data() + 1, index);
    return sha256({View(head), content});
}

std::uint32_t level_count(std::uint64_t leaves) noexcept {
    return leaves == 0 ? 0 : 1 + static_cast<std::uint32_t>(std::bit_width(leaves - 1));
}

std::uint64_t level_width(std::uint64_t leaves, std::uint32_t level) noexcept {
    for (; level > 0 && leaves > 1; --level) leaves = parent_width(leaves);
    return level == 0 ? leaves : 0;
}

Hash32 tree_root(std::span<const Hash32> leaves) {
    if (leaves.empty()) return {};
    // peaks[h] is the finished subtree of 2^h leaves for every bit h of the number of leaves seen: no level is stored.
    std::array<Hash32, 64> peaks;
    for (std::uint64_t seen = 0; seen < leaves.size(); ++seen) {
        Hash32 node = leaves[seen];
        const int height = std::countr_one(seen);
        for (int h = 0; h < height; ++h) node = node_hash(peaks[h], node);
        peaks[height] = node;
    }
    // Promotion joins the lowest peak with the next higher one, and so on upward.
    const std::uint64_t count = leaves.size();
    int height = std::countr_zero(count);
    Hash32 root = peaks[height];
    for (++height; height < 64; ++height) {
        if (count >> height & 1) root = node_hash(peaks[height], root);
    }
    return root;
}

std::string_view slug(ProofError error) noexcept {
    switch (error) {
        case ProofError::no_leaves: return "no_leaves";
        case ProofError::bad_order: return "bad_order";
        case ProofError::out_of_range: return "out_of_range";
        case ProofError::too_short: return "too_short";
        case ProofError::too_long: return "too_long";
        case ProofError::wrong_root: return "wrong_root";
    }
    return "unknown";
}

TileTree::TileTree(std::vector<Hash32> leaves) {
    if (leaves.empty()) return;
    levels_.reserve(level_count(leaves.size()));
    levels_.push_back(std::move(leaves));
    while (levels_.back().size() > 1) {
        const std::vector<Hash32>& below = levels_.back();
        std::vector<Hash32> level(parent_width(below.size()));
        for (std::size_t i = 0; i < below.size() / 2; ++i) level[i] = node_hash(below[2 * i], below[2 * i + 1]);
        if (below.size() % 2 == 1) level.back() = below.back();
        levels_.push_back(std::move(level));
    }
}

Hash32 TileTree::root() const { return levels_.empty() ? Hash32{} : levels_.back().front(); }

const Hash32& TileTree::node(std::uint32_t level, std::uint64_t index) const {
    ensure(level < levels_.size() && index < levels_[level].size(), "a node of the tree");
    return levels_[level][index];
}

void TileTree::update(std::uint64_t index, const Hash32& leaf) {
    ensure(index < leaf_count(), "a leaf of the tree");
    levels_[0][index] = leaf;
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
        const std::vector<Hash32>& below = levels_[level];
        const std::uint64_t left = index & ~std::uint64_t{1};
        levels_[level + 1][index / 2] = left + 1 < below.size() ? node_hash(below[left], below[left + 1]) : below[left];
        index /= 2;
    }
}

MultiProof TileTree::prove(std::span<const std::uint64_t> indices) const {
    MultiProof proof;
    std::vector<std::uint64_t> known(indices.begin(), indices.end());
    for (std::size_t i = 0; i < known.size(); ++i) {
        ensure(known[i] < leaf_count(), "a leaf of the tree");
        ensure(i == 0 || known[i - 1] < known[i], "indices ascend");
    }
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
        std::size_t out = 0;
        for (std::size_t in = 0; in < known.size(); ++in) {
            const std::uint64_t index = known[in];
            const std::uint64_t other = index ^ 1;
            if (other > index && in + 1 < known.size() && known[in + 1] == other) {
                ++in;
            } else if (other < levels_[level].size()) {
                proof.siblings.push_back(levels_[level][other]);
            }
            known[out++] = index / 2;
        }
        known.resize(out);
    }
    return proof;
}

Result<Hash32, ProofError> root_of(std::uint64_t leaf_count, std::span<const IndexedLeaf> leaves,
                                   const MultiProof& proof) {
    if (leaves.empty()) return Unexpected{ProofError::no_leaves};
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (i > 0 && leaves[i].index <= leaves[i - 1].index) return Unexpected{ProofError::bad_order};
        if (leaves[i].index >= leaf_count) return Unexpected{ProofError::out_of_range};
    }
    // Walks the tree as TileTree::prove does, so a proof has one order and one number of siblings.
    std::vector<IndexedLeaf> known(leaves.begin(), leaves.end());
    auto sibling = proof.siblings.begin();
    for (std::uint64_t width = leaf_count; width > 1; width = parent_width(width)) {
        std::size_t out = 0;
        for (std::size_t in = 0; in < known.size(); ++in) {
            const auto [index, hash] = known[in];
            Hash32 parent = hash;
            if (index % 2 == 0 && in + 1 < known.size() && known[in + 1].index == index + 1) {
                parent = node_hash(hash, known[++in].hash);
            } else if ((index ^ 1) < width) {
                if (sibling == proof.siblings.end()) return Unexpected{ProofError::too_short};
                parent = index % 2 == 0 ? node_hash(hash, *sibling) : node_hash(*sibling, hash);
                ++sibling;
            }
            known[out++] = {index / 2, parent};
        }
        known.resize(out);
    }
    if (sibling != proof.siblings.end()) return Unexpected{ProofError::too_long};
    return known.front().hash;
}

Status<ProofError> verify(const Hash32& root, std::uint64_t leaf_count, std::span<const IndexedLeaf> leaves,
                          const MultiProof& proof) {
    RETRACE_TRY(found, root_of(leaf_count, leaves, proof));
    if (found != root) return Unexpected{ProofError::wrong_root};
    return Unit{};
}

}  // namespace retrace::merkle
