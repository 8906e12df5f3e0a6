// SPDX-License-Identifier: MIT
#include "ledger/chain/tree_nodes.hpp"

#include <bit>
#include <memory>
#include <vector>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kLevels = kPageLevels;
constexpr std::size_t kNodeBytes = 65;           // of an encoded node
constexpr std::size_t kBitmapBytes = 2;

/// Which page holds a node, and where in it. A store key is the depth (two bytes, big endian) and the prefix.
struct Place {
    Bytes page_key;
    std::size_t slot = 0;  // level by level from the page's top
};

Place place_of(const Bytes& store_key) {
    ensure(store_key.size() >= 2, "a node's key begins with its depth");
    const std::size_t depth = std::size_t{store_key[0]} << 8 | store_key[1];
    const std::size_t below = depth % kLevels;
    const std::size_t top = depth - below;
    Place out;
    out.page_key.reserve(2 + (top + 7) / 8);
    out.page_key = {static_cast<std::uint8_t>(top >> 8), static_cast<std::uint8_t>(top)};
    out.page_key.insert(out.page_key.end(), store_key.begin() + 2,
                        store_key.begin() + 2 + static_cast<std::ptrdiff_t>((top + 7) / 8));
    // Four levels start at a byte or in its middle; the bits after the page's own prefix are the place within.
    if (top % 8 != 0) out.page_key.back() &= 0xf0;
    const std::size_t nibble = below == 0 ? 0 : store_key[2 + top / 8] >> (top % 8 == 0 ? 4 : 0) & 0xf;
    out.slot = ((std::size_t{1} << below) - 1) + (nibble >> (kLevels - below));
    return out;
}

unsigned bitmap_of(View page) { return page.size() < kBitmapBytes ? 0 : load_u16(page.data()); }

/// The node in a slot; empty when there is none.
View slot_of(View page, std::size_t slot) {
    const unsigned bitmap = bitmap_of(page);
    if ((bitmap >> slot & 1) == 0) return {};
    const auto before = static_cast<std::size_t>(std::popcount(bitmap & ((1U << slot) - 1)));
    return page.subspan(kBitmapBytes + before * kNodeBytes, kNodeBytes);
}

void check_page(View page) {
    const auto nodes = static_cast<std::size_t>(std::popcount(bitmap_of(page)));
    ensure(page.empty() || page.size() == kBitmapBytes + nodes * kNodeBytes,
           "the data base holds a page of the state tree that does not decode");
}

}  // namespace

Bytes encode_page(const PageSlots& nodes) {
    Bytes out(kBitmapBytes);
    out.reserve(kBitmapBytes + nodes.size() * kNodeBytes);
    unsigned bitmap = 0;
    for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
        const merkle::SparseNode& node = nodes[slot];
        if (node.kind == merkle::SparseNode::Kind::empty) continue;
        bitmap |= 1U << slot;
        out.push_back(static_cast<std::uint8_t>(node.kind));
        out.insert(out.end(), node.left.bytes.begin(), node.left.bytes.end());
        out.insert(out.end(), node.right.bytes.begin(), node.right.bytes.end());
    }
    if (bitmap == 0) return {};
    store_u16(out.data(), static_cast<std::uint16_t>(bitmap));
    return out;
}

PageSlots decode_page(View page) {
    check_page(page);
    PageSlots out;
    const unsigned bitmap = bitmap_of(page);
    std::size_t at = kBitmapBytes;
    for (std::size_t slot = 0; slot < out.size(); ++slot) {
        if ((bitmap >> slot & 1) == 0) continue;
        const auto node = merkle::SparseNode::decode(page.subspan(at, kNodeBytes));
        ensure(node.has_value(), "the data base holds a node of the state tree that does not decode");
        out[slot] = *node;
        at += kNodeBytes;
    }
    return out;
}

const Bytes& PagedNodes::page(Bytes page_key) const {
    const std::size_t level = (std::size_t{page_key[0]} << 8 | page_key[1]) / kLevels;
    auto& last = last_[level];
    if (last != nullptr && last->first == page_key) return last->second;
    auto found = pages_.find(page_key);
    if (found == pages_.end()) {
        Bytes content = read_(page_key).value_or(Bytes{});
        check_page(content);
        found = pages_.emplace(std::move(page_key), std::move(content)).first;
    }
    last = &*found;
    return found->second;
}

std::optional<Bytes> PagedNodes::get(const Bytes& store_key) const {
    Place place = place_of(store_key);
    const View node = slot_of(page(std::move(place.page_key)), place.slot);
    return node.empty() ? std::nullopt : std::optional<Bytes>(to_bytes(node));
}

PagedNodes tip_nodes(const Store& store) {
    return PagedNodes([&store](const Bytes& page_key) { return store.get(keys::page(page_key)); });
}

std::optional<PagedNodes> past_nodes(const Store& store, std::uint64_t height, std::uint64_t tip) {
    auto before = std::make_shared<std::vector<PageWrites>>();  // of the heights after `height`, ascending
    for (std::uint64_t at = height + 1; at <= tip; ++at) {
        const auto record = store.get(keys::old_pages(at));
        auto pages = record ? decode_pages(*record) : std::nullopt;
        if (!pages) return std::nullopt;
        before->push_back(std::move(*pages));
    }
    return PagedNodes([&store, before](const Bytes& page_key) -> std::optional<Bytes> {
        for (const PageWrites& pages : *before) {
            const auto found = pages.find(page_key);
            if (found != pages.end()) return found->second;
        }
        return store.get(keys::page(page_key));
    });
}

}  // namespace retrace::ledger
