// SPDX-License-Identifier: MIT
#include "merkle/tree/append_tree.hpp"

#include <bit>
#include <limits>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::merkle {
namespace {

// Returns a node of the tree of `size` leaves. An incomplete node joins its left half, which may be incomplete too,
// with the existing part of its right half.
std::optional<Hash32> node_at(const AppendNodeStore& store, std::uint64_t size, std::uint32_t level,
                              std::uint64_t index) {
    // Shifts `size` down, because (index + 1) << level may overflow.
    if (index < size >> level) return store.get(level, index);
    const auto left = node_at(store, size, level - 1, 2 * index);
    if (!left || 2 * index + 1 >= level_width(size, level - 1)) return left;
    const auto right = node_at(store, size, level - 1, 2 * index + 1);
    if (!right) return std::nullopt;
    return node_hash(*left, *right);
}

}  // namespace

Hash32 append_leaf(View content) {
    static constexpr std::uint8_t kTag[] = {static_cast<std::uint8_t>(Tag::append_leaf)};
    return sha256({View(kTag), content});
}

std::vector<AppendNode> AppendTree::append(const Hash32& leaf) {
    ensure(size_ < std::numeric_limits<std::uint64_t>::max(), "the length fits 64 bits");
    std::vector<AppendNode> completed{{0, size_, leaf}};
    for (std::uint32_t level = 0; size_ >> level & 1; ++level) {
        completed.push_back({level + 1, size_ >> (level + 1), node_hash(peaks_.back(), completed.back().hash)});
        peaks_.pop_back();
    }
    peaks_.push_back(completed.back().hash);
    ++size_;
    return completed;
}

Hash32 AppendTree::root() const {
    if (peaks_.empty()) return {};
    Hash32 root = peaks_.back();
    for (std::size_t i = peaks_.size() - 1; i-- > 0;) root = node_hash(peaks_[i], root);
    return root;
}

void AppendTree::encode_to(Writer& out) const {
    out.u64(size_);
    for (const Hash32& peak : peaks_) out.hash(peak);
}

AppendTree AppendTree::decode(Reader& in) {
    AppendTree tree;
    tree.size_ = in.u64();
    const int peaks = std::popcount(tree.size_);
    for (int i = 0; i < peaks; ++i) tree.peaks_.push_back(in.hash());
    return in.ok() ? tree : AppendTree{};
}

std::optional<MultiProof> prove_append(const AppendNodeStore& store, std::uint64_t size, std::uint64_t index) {
    if (index >= size) return std::nullopt;
    MultiProof proof;
    std::uint64_t width = size;
    for (std::uint32_t level = 0; width > 1; ++level, width = level_width(size, level), index /= 2) {
        if ((index ^ 1) >= width) continue;
        const auto sibling = node_at(store, size, level, index ^ 1);
        if (!sibling) return std::nullopt;
        proof.siblings.push_back(*sibling);
    }
    return proof;
}

}  // namespace retrace::merkle
