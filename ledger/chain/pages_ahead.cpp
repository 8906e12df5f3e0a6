// SPDX-License-Identifier: MIT
#include "ledger/chain/pages_ahead.hpp"

#include <algorithm>

#include "ledger/chain/keys.hpp"

namespace retrace::ledger {
namespace {

using merkle::NodePath;
using merkle::SparseNode;
using Updates = std::span<const merkle::SparseUpdate>;

/// Whether the way to `key` leaves the page (with its top at `depth`) through its lowest level.
bool leads_below(const PageSlots& nodes, const Hash32& key, std::uint16_t depth) {
    std::size_t slot = 0;
    for (std::uint16_t level = 0;; ++level) {
        const SparseNode& node = nodes[slot];
        if (node.kind != SparseNode::Kind::inner) return false;
        const bool right = merkle::key_bit(key, static_cast<std::uint16_t>(depth + level));
        if (level + 1 == kPageLevels) return !(right ? node.right : node.left).is_zero();
        slot = 2 * slot + 1 + (right ? 1 : 0);
    }
}

/// Appends the parts of `group` that go on below its page.
void append_below(std::vector<Updates>& out, const PageSlots& nodes, Updates group, std::uint16_t depth) {
    const auto below = static_cast<std::uint16_t>(depth + kPageLevels);
    while (!group.empty()) {
        const Hash32& first = group.front().first;
        const auto end =
            std::partition_point(group.begin(), group.end(), [&](const merkle::SparseUpdate& update) {
                return merkle::shares_prefix(update.first, first, below);
            });
        const auto size = static_cast<std::size_t>(end - group.begin());
        if (leads_below(nodes, first, depth)) out.push_back(group.first(size));
        group = group.subspan(size);
    }
}

}  // namespace

PagesAhead::PagesAhead(const Store& store, std::uint16_t depth, Updates updates) : top_(depth) {
    std::vector<Updates> groups{updates}, below;
    for (; !groups.empty(); depth = static_cast<std::uint16_t>(depth + kPageLevels)) {
        std::vector<Bytes> page_keys, store_keys;
        page_keys.reserve(groups.size());
        store_keys.reserve(groups.size());
        for (const Updates& group : groups) {
            page_keys.push_back(NodePath::of(group.front().first, depth).store_key());
            store_keys.push_back(keys::page(page_keys.back()));
        }
        std::vector<std::optional<Bytes>> read = store.get_many(store_keys);
        Level& level = levels_.emplace_back();
        level.pages.reserve(groups.size());
        below.clear();
        for (std::size_t i = 0; i < groups.size(); ++i) {
            auto page = std::make_unique<OpenPage>();
            page->key = std::move(page_keys[i]);
            page->old = std::move(read[i]).value_or(Bytes{});
            page->nodes = decode_page(page->old);
            append_below(below, page->nodes, groups[i], depth);
            level.pages.push_back(std::move(page));
        }
        groups.swap(below);
    }
}

std::unique_ptr<OpenPage> PagesAhead::take(const NodePath& path) {
    if (path.depth < top_) return nullptr;
    const std::size_t at = static_cast<std::size_t>(path.depth - top_) / kPageLevels;
    if (at >= levels_.size()) return nullptr;
    Level& level = levels_[at];
    const Bytes key = path.store_key();
    while (level.next < level.pages.size() && level.pages[level.next]->key < key) ++level.next;
    if (level.next == level.pages.size() || level.pages[level.next]->key != key) return nullptr;
    return std::move(level.pages[level.next++]);
}

}  // namespace retrace::ledger
