// SPDX-License-Identifier: MIT
// A second, naive definition of every tree: recursive, complete, and slow. The fast implementations must agree with it.
#pragma once

#include <map>
#include <random>
#include <span>
#include <vector>

#include "merkle/hash/sha256.hpp"
#include "merkle/tree/sparse_node.hpp"

namespace retrace::merkle::naive {

inline Hash32 tagged(std::uint8_t tag, const Hash32& a, const Hash32& b) {
    return Sha256().update_u8(tag).update(view(a)).update(view(b)).finish();
}

/// The size of the left part is the largest power of two below the number of leaves.
inline Hash32 root(std::span<const Hash32> leaves) {
    if (leaves.empty()) return {};
    if (leaves.size() == 1) return leaves[0];
    std::size_t half = 1;
    while (half * 2 < leaves.size()) half *= 2;
    return tagged(1, root(leaves.first(half)), root(leaves.subspan(half)));
}

inline Hash32 sparse_root(const std::map<Hash32, Hash32>& values, std::uint16_t depth = 0) {
    if (values.empty()) return {};
    if (values.size() == 1) return tagged(8, values.begin()->first, values.begin()->second);
    std::map<Hash32, Hash32> half[2];
    for (const auto& item : values) half[item.first.bytes[depth / 8] >> (7 - depth % 8) & 1].insert(item);
    return tagged(1, sparse_root(half[0], depth + 1), sparse_root(half[1], depth + 1));
}

inline Hash32 number(std::uint64_t n) { return Sha256().update_u64(n).finish(); }

inline std::vector<Hash32> leaves(std::uint64_t count, std::uint64_t salt = 0) {
    std::vector<Hash32> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(number(salt << 32 | i));
    return out;
}

}  // namespace retrace::merkle::naive
