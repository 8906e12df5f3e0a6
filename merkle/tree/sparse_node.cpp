// SPDX-License-Identifier: MIT
#include "merkle/tree/sparse_node.hpp"

#include <algorithm>
#include <array>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::merkle {
namespace {

constexpr std::size_t kNodeSize = 65;

}  // namespace

std::string_view slug(SparseError error) noexcept {
    switch (error) {
        case SparseError::missing_node: return "missing_node";
        case SparseError::corrupt_node: return "corrupt_node";
        case SparseError::too_long: return "too_long";
        case SparseError::misplaced_leaf: return "misplaced_leaf";
        case SparseError::needless_leaf: return "needless_leaf";
        case SparseError::wrong_root: return "wrong_root";
    }
    return "unknown";
}

bool key_bit(const Hash32& key, std::uint16_t index) noexcept {
    return (key.bytes[index / 8] >> (7 - index % 8) & 1) != 0;
}

bool shares_prefix(const Hash32& a, const Hash32& b, std::uint16_t bits) noexcept {
    const std::size_t whole = bits / 8;
    if (!std::equal(a.bytes.begin(), a.bytes.begin() + static_cast<std::ptrdiff_t>(whole), b.bytes.begin())) {
        return false;
    }
    return bits % 8 == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - bits % 8)) == 0;
}

NodePath NodePath::child(bool right) const {
    ensure(depth < kSparseDepthMax, "a node above the last bit");
    NodePath out = *this;
    if (right) out.prefix.bytes[depth / 8] |= static_cast<std::uint8_t>(0x80 >> depth % 8);
    ++out.depth;
    return out;
}

NodePath NodePath::of(const Hash32& key, std::uint16_t depth) {
    ensure(depth <= kSparseDepthMax, "a depth within the key");
    NodePath out{depth, {}};
    const std::size_t whole = depth / 8;
    std::copy_n(key.bytes.begin(), whole, out.prefix.bytes.begin());
    if (depth % 8 != 0) {
        out.prefix.bytes[whole] = static_cast<std::uint8_t>(key.bytes[whole] & (0xff00 >> depth % 8));
    }
    return out;
}

Bytes NodePath::store_key() const {
    const std::size_t size = (depth + 7u) / 8;
    Bytes out(2 + size);
    out[0] = static_cast<std::uint8_t>(depth >> 8);
    out[1] = static_cast<std::uint8_t>(depth);
    std::copy_n(prefix.bytes.begin(), size, out.begin() + 2);
    return out;
}

Hash32 sparse_leaf_hash(const SparseLeaf& leaf) {
    std::array<std::uint8_t, kNodeSize> message;
    message[0] = static_cast<std::uint8_t>(Tag::sparse_leaf);
    std::copy(leaf.key.bytes.begin(), leaf.key.bytes.end(), message.begin() + 1);
    std::copy(leaf.value_hash.bytes.begin(), leaf.value_hash.bytes.end(), message.begin() + 33);
    return sha256(View(message));
}

SparseLeaf SparseNode::as_leaf() const {
    ensure(kind == Kind::leaf, "the node is a leaf");
    return {left, right};
}

Hash32 SparseNode::hash() const {
    if (kind == Kind::empty) return {};
    return kind == Kind::inner ? node_hash(left, right) : sparse_leaf_hash({left, right});
}

Bytes SparseNode::encode() const {
    if (kind == Kind::empty) return {};
    Bytes out;
    out.reserve(kNodeSize);
    out.push_back(static_cast<std::uint8_t>(kind));
    out.insert(out.end(), left.bytes.begin(), left.bytes.end());
    out.insert(out.end(), right.bytes.begin(), right.bytes.end());
    return out;
}

std::optional<SparseNode> SparseNode::decode(View bytes) {
    if (bytes.size() != kNodeSize || bytes[0] < 1 || bytes[0] > 2) return std::nullopt;
    return SparseNode{static_cast<Kind>(bytes[0]), to_hash32(bytes.subspan(1, 32)), to_hash32(bytes.subspan(33))};
}

std::optional<Bytes> MemoryNodeStore::get(const Bytes& store_key) const {
    const auto found = nodes_.find(store_key);
    if (found == nodes_.end()) return std::nullopt;
    return found->second;
}

void MemoryNodeStore::write(const NodeWrites& writes) {
    for (const auto& [key, node] : writes) {
        if (node.empty()) {
            nodes_.erase(key);
        } else {
            nodes_[key] = node;
        }
    }
}

}  // namespace retrace::merkle
