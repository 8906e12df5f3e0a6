// SPDX-License-Identifier: MIT
#include "ledger/chain/tree_nodes.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

using merkle::NodePath;
using merkle::SparseLeaf;
using merkle::SparseNode;

/// Reading and scanning this much of a large record takes about as long as reading a small one.
constexpr std::size_t kRecordBytesPerWork = 4096;

NodePath path_of(const Bytes& store_key) {
    ensure(store_key.size() >= 2 && store_key.size() <= 2 + Hash32::size(), "a node's key is a depth and a prefix");
    NodePath out;
    out.depth = static_cast<std::uint16_t>(store_key[0] << 8 | store_key[1]);
    ensure(out.depth <= merkle::kSparseDepthMax, "a node lies within the key");
    std::copy(store_key.begin() + 2, store_key.end(), out.prefix.bytes.begin());
    return out;
}

/// The node over the bucket's leaves under `path`.
SparseNode node_of(Leaves leaves, const NodePath& path) {
    const auto elsewhere = [&](const SparseLeaf& leaf) {
        return !merkle::shares_prefix(leaf.key, path.prefix, path.depth);
    };
    while (!leaves.empty() && elsewhere(leaves.front())) leaves = leaves.subspan(1);
    while (!leaves.empty() && elsewhere(leaves.back())) leaves = leaves.first(leaves.size() - 1);
    if (leaves.empty()) return {};
    if (leaves.size() == 1) return SparseNode::leaf(leaves[0]);
    const auto below = static_cast<std::uint16_t>(path.depth + 1);
    const auto middle = std::ranges::partition_point(
        leaves, [&](const SparseLeaf& leaf) { return !merkle::key_bit(leaf.key, path.depth); });
    const auto left = static_cast<std::size_t>(middle - leaves.begin());
    return SparseNode::inner(fold(leaves.first(left), below).hash, fold(leaves.subspan(left), below).hash);
}

std::optional<TreePage> read_page(const Store& store, const Bytes& page_key) {
    return decode_page(store.get(keys::page(page_key)).value_or(Bytes{}));
}

/// Keys of all pages that could hold nodes above the leaf.
std::set<Bytes> pages_on_way(const Hash32& leaf_key) {
    std::set<Bytes> out;
    for (std::uint16_t depth = 0; depth <= kPageDepthMax; depth += kPageLevels)
        out.insert(NodePath::of(leaf_key, depth).store_key());
    return out;
}

/// Changes of some pages by the blocks after `height`, newest block first.
std::optional<std::vector<PagePatches>> later_patches(const Store& store, std::uint64_t height, std::uint64_t tip,
                                                      const std::set<Bytes>& page_keys, const WorkMeter& meter) {
    std::vector<PagePatches> out;
    for (std::uint64_t at = tip; at > height; --at) {
        if (!meter(1)) return std::nullopt;
        const auto record = store.get(keys::old_pages(at));
        if (!record || !meter(record->size() / kRecordBytesPerWork)) return std::nullopt;
        auto patches = select_patches(*record, page_keys);
        if (!patches) return std::nullopt;
        out.push_back(std::move(*patches));
    }
    return out;
}

std::optional<TreePage> page_before(const Store& store, const Bytes& page_key, const std::vector<PagePatches>& later) {
    auto page = read_page(store, page_key);
    for (const PagePatches& patches : later) {
        const auto found = patches.find(page_key);
        if (page && found != patches.end()) page = patched(std::move(*page), found->second);
    }
    return page;
}

}  // namespace

const std::optional<TreePage>& PagedNodes::page(const NodePath& top) const {
    Bytes key = top.store_key();
    auto found = pages_.find(key);
    if (found == pages_.end()) {
        auto content = read_(key);
        found = pages_.emplace(std::move(key), std::move(content)).first;
    }
    return found->second;
}

std::optional<Bytes> PagedNodes::get(const Bytes& store_key) const {
    const Bytes node = node_at(path_of(store_key), NodePath{}).encode();
    return node.empty() ? std::nullopt : std::optional<Bytes>(node);
}

/// The node at `path`, which lies under `top`, the top of a page.
SparseNode PagedNodes::node_at(const NodePath& path, const NodePath& top) const {
    const auto& content = page(top);
    if (!content) return {};
    if (const auto* bucket = std::get_if<Bucket>(&*content)) return node_of(*bucket, path);
    if (top.depth >= kPageDepthMax) return {};  // no key is so long: the page is damaged
    std::span<const Subtree> places = std::get<Branch>(*content);
    const auto below = static_cast<std::uint16_t>(top.depth + kPageLevels);
    if (path.depth >= below) return node_at(path, NodePath::of(path.prefix, below));
    // Each bit of `path` below the page's top selects one half of the remaining places.
    for (std::uint16_t depth = top.depth; depth < path.depth; ++depth) {
        const std::size_t half = places.size() / 2;
        places = merkle::key_bit(path.prefix, depth) ? places.subspan(half) : places.first(half);
    }
    const std::size_t half = places.size() / 2;
    const Subtree left = fold(places.first(half)), right = fold(places.subspan(half));
    const std::uint8_t count = add_counts(left.count, right.count);
    if (count != 1) return count == 0 ? SparseNode{} : SparseNode::inner(left.hash, right.hash);
    // A lone leaf was moved up from a page below, which stores it.
    NodePath to_leaf = path;
    while (places.size() > 1) {
        const auto left_places = places.first(places.size() / 2);
        const bool right_side = fold(left_places).count == 0;
        to_leaf = to_leaf.child(right_side);
        places = right_side ? places.subspan(left_places.size()) : left_places;
    }
    return node_at(to_leaf, to_leaf);
}

PagedNodes tip_nodes(const Store& store) {
    return PagedNodes([&store](const Bytes& page_key) { return read_page(store, page_key); });
}

std::optional<PagedNodes> past_nodes(const Store& store, std::uint64_t height, std::uint64_t tip,
                                     const Hash32& leaf_key, const WorkMeter& meter) {
    std::set<Bytes> way = pages_on_way(leaf_key);
    auto later = later_patches(store, height, tip, way, meter);
    if (!later) return std::nullopt;
    return PagedNodes([=, &store, &meter, way = std::move(way),
                       later = std::move(*later)](const Bytes& page_key) -> std::optional<TreePage> {
        if (way.contains(page_key)) return page_before(store, page_key, later);
        // A lone leaf with another key was moved up from a page beside the path.
        const auto beside = later_patches(store, height, tip, {page_key}, meter);
        return beside ? page_before(store, page_key, *beside) : std::nullopt;
    });
}

}  // namespace retrace::ledger
