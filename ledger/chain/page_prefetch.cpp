// SPDX-License-Identifier: MIT
#include "ledger/chain/page_prefetch.hpp"

#include <algorithm>

namespace retrace::ledger {
namespace {

using merkle::NodePath;
using Keys = std::span<const Hash32>;

/// Appends the parts of `group` whose paths continue below its page.
void append_below(std::vector<Keys>& out, const OpenPage& page, Keys group, std::uint16_t depth) {
    const auto* branch = std::get_if<Branch>(&page.before);
    if (branch == nullptr || depth >= kPageDepthMax) return;
    for (; !group.empty(); group = group.subspan(first_group(group, depth).size())) {
        if ((*branch)[place_of(group.front(), depth)].count > 0) out.push_back(first_group(group, depth));
    }
}

}  // namespace

PagePrefetch::PagePrefetch(const PageSource& source, std::uint16_t depth, Keys keys) : top_(depth) {
    std::vector<Keys> groups, below;
    if (!keys.empty()) groups.push_back(keys);
    for (; !groups.empty(); depth = static_cast<std::uint16_t>(depth + kPageLevels)) {
        std::vector<Bytes> page_keys;
        page_keys.reserve(groups.size());
        for (const Keys& group : groups) page_keys.push_back(NodePath::of(group.front(), depth).store_key());
        Level& level = levels_.emplace_back();
        level.pages = source.open_all(std::move(page_keys));
        below.clear();
        for (std::size_t i = 0; i < groups.size(); ++i) append_below(below, *level.pages[i], groups[i], depth);
        groups.swap(below);
    }
}

std::unique_ptr<OpenPage> PagePrefetch::take(const NodePath& path) {
    if (path.depth < top_) return nullptr;
    const std::size_t at = static_cast<std::size_t>(path.depth - top_) / kPageLevels;
    if (at >= levels_.size()) return nullptr;
    Level& level = levels_[at];
    const Bytes key = path.store_key();
    while (level.next < level.pages.size() && level.pages[level.next]->key < key) ++level.next;
    if (level.next == level.pages.size() || level.pages[level.next]->key != key) return nullptr;
    return std::move(level.pages[level.next++]);
}

TreePrefetch prefetch_tree(const PageSource& source, Keys keys, const std::atomic<bool>& stop) {
    TreePrefetch out;
    while (!keys.empty() && !stop) {
        const Keys group = first_group(keys, 0);
        out[place_of(group.front(), 0)] = PagePrefetch(source, kPageLevels, group);
        keys = keys.subspan(group.size());
    }
    return out;
}

}  // namespace retrace::ledger
