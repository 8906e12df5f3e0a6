// SPDX-License-Identifier: MIT
#include "ledger/chain/paged_tree.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/pages_ahead.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

using merkle::NodePath;
using merkle::SparseError;
using merkle::SparseNode;
using merkle::SparseUpdate;
using Kind = SparseNode::Kind;
using Updates = std::span<const SparseUpdate>;

constexpr std::uint16_t kSplitDepth = kPageLevels;  // the pages below the root's are worked on side by side
constexpr std::size_t kSubtrees = std::size_t{1} << kSplitDepth;
constexpr std::size_t kParallelMin = 256;  // updates that are worth a thread

/// A node after its updates, not yet put in its place: the parent decides whether it stays there, for a lone
/// leaf moves up. `page` is set when the node is the top of a page of its own.
struct Child {
    SparseNode node;
    Hash32 hash;
    std::unique_ptr<OpenPage> page;
};
using Updated = Result<Child, SparseError>;

/// Puts pages into a map. The pages of a level come in ascending order, so each finds its place next to the one before.
class PageSink {
public:
    explicit PageSink(PageWrites& out) : out_(out) {}
    void put(Bytes key, Bytes page) {
        const auto place = place_of(key);
        remember(out_.emplace_hint(place, std::move(key), std::move(page)));
    }
    void put(PageWrites::node_type&& page) {
        const auto place = place_of(page.key());
        remember(out_.insert(place, std::move(page)));
    }

private:
    using Iterator = PageWrites::iterator;
    static std::size_t level_of(const Bytes& key) { return (std::size_t{key[0]} << 8 | key[1]) / kPageLevels; }
    Iterator place_of(const Bytes& key) {
        const auto& last = last_[level_of(key)];
        return last ? std::next(*last) : out_.lower_bound(key);
    }
    void remember(Iterator put) { last_[level_of(put->first)] = put; }

    PageWrites& out_;
    std::array<std::optional<Iterator>, merkle::kSparseDepthMax / kPageLevels + 1> last_;
};

// The updates of the left half of a subtree come first: they are the ones whose bit at `depth` is 0.
std::size_t left_count(Updates updates, std::uint16_t depth) {
    const auto middle = std::partition_point(updates.begin(), updates.end(), [&](const SparseUpdate& u) {
        return !merkle::key_bit(u.first, depth);
    });
    return static_cast<std::size_t>(middle - updates.begin());
}

/// What is left when `updates` meet an empty subtree or a single leaf: insertions only, sorted.
std::vector<SparseUpdate> with_leaf(const SparseNode& node, Updates updates) {
    std::vector<SparseUpdate> out;
    out.reserve(updates.size() + 1);
    for (const SparseUpdate& update : updates) {
        if (update.second) out.push_back(update);
    }
    if (node.kind != Kind::leaf) return out;
    const merkle::SparseLeaf leaf = node.as_leaf();
    const auto by_key = [](const SparseUpdate& u, const Hash32& key) { return u.first < key; };
    const auto touched = std::lower_bound(updates.begin(), updates.end(), leaf.key, by_key);
    if (touched != updates.end() && touched->first == leaf.key) return out;
    out.insert(std::lower_bound(out.begin(), out.end(), leaf.key, by_key), {leaf.key, leaf.value_hash});
    return out;
}

/// One pass over the changed part of a subtree.
class Pass {
public:
    Pass(const Store& store, PageWrites& pages, PageWrites& old_pages, PagesAhead ahead = {})
        : store_(store), pages_(pages), old_pages_(old_pages), ahead_(std::move(ahead)) {}

    /// Subtrees at kSplitDepth that others have already done.
    void take_over(std::vector<std::optional<Child>> done) { done_ = std::move(done); }

    /// The subtree at `path`, whose place is the top of a page.
    Updated update_page(const NodePath& path, const Hash32& old, Updates updates) {
        auto page = open(path, !old.is_zero());
        RETRACE_TRY(node, update(*page, 0, path, old, updates));
        const Hash32 hash = node.hash();
        return Child{node, hash, std::move(page)};
    }

    /// Puts a child in its place; an empty node clears it.
    void settle(OpenPage& parent, std::size_t slot, Child& child, bool stays) {
        OpenPage& page = child.page ? *child.page : parent;
        page.nodes[child.page ? 0 : slot] = stays ? child.node : SparseNode{};
        if (child.page) flush(*child.page);
    }

    void flush(OpenPage& page) {
        Bytes bytes = encode_page(page.nodes);
        if (bytes == page.old) return;
        old_pages_.put(page.key, std::move(page.old));
        pages_.put(std::move(page.key), std::move(bytes));
    }

private:
    std::unique_ptr<OpenPage> open(const NodePath& path, bool exists) {
        if (exists) {
            if (auto read = ahead_.take(path)) return read;
        }
        auto page = std::make_unique<OpenPage>();
        page->key = path.store_key();
        if (!exists) return page;
        page->old = store_.get(keys::page(page->key)).value_or(Bytes{});
        page->nodes = decode_page(page->old);
        return page;
    }

    static Result<SparseNode, SparseError> checked(const OpenPage& page, std::size_t slot,
                                                   const NodePath& path, const Hash32& hash) {
        if (hash.is_zero()) return SparseNode{};
        const SparseNode& node = page.nodes[slot];
        if (node.kind == Kind::empty) return Unexpected{SparseError::missing_node};
        const bool in_place = node.kind == Kind::leaf
                                  ? merkle::shares_prefix(node.left, path.prefix, path.depth)
                                  : path.depth < merkle::kSparseDepthMax;
        if (!in_place || node.hash() != hash) return Unexpected{SparseError::corrupt_node};
        return node;
    }

    /// The node at `path`, which lies in `page` at `slot`, after `updates`; all of them lie under it.
    Result<SparseNode, SparseError> update(OpenPage& page, std::size_t slot, const NodePath& path,
                                           const Hash32& old, Updates updates) {
        RETRACE_TRY(node, checked(page, slot, path, old));
        if (updates.empty()) return node;
        if (node.kind == Kind::inner) return update_inner(page, slot, path, node, updates);
        return build(page, slot, path, with_leaf(node, updates));
    }

    Updated update_child(OpenPage& page, std::size_t slot, const NodePath& path, const Hash32& old,
                         Updates updates) {
        if (path.depth == kSplitDepth && !done_.empty()) {
            auto& done = done_[path.prefix.bytes[0] >> (8 - kSplitDepth)];
            if (done) return std::move(*done);
        }
        if (path.depth % kPageLevels == 0) return update_page(path, old, updates);
        RETRACE_TRY(node, update(page, slot, path, old, updates));
        const Hash32 hash = node.hash();
        return Child{node, hash, nullptr};
    }

    Result<SparseNode, SparseError> update_inner(OpenPage& page, std::size_t slot, const NodePath& path,
                                                 const SparseNode& node, Updates updates) {
        const Hash32 old[2] = {node.left, node.right};
        const std::size_t middle = left_count(updates, path.depth);
        const Updates halves[2] = {updates.first(middle), updates.subspan(middle)};
        std::optional<Child> child[2];
        Hash32 hash[2] = {old[0], old[1]};
        for (std::size_t side = 0; side < 2; ++side) {
            if (halves[side].empty()) continue;
            RETRACE_TRY(updated, update_child(page, 2 * slot + 1 + side, path.child(side == 1), old[side],
                                              halves[side]));
            hash[side] = updated.hash;
            child[side] = std::move(updated);
        }
        bool stay = true;
        SparseNode out = SparseNode::inner(hash[0], hash[1]);
        if (hash[0].is_zero() || hash[1].is_zero()) {
            // An untouched child is read only if its sibling vanished: only then it matters whether it is a
            // leaf.
            const std::size_t side = hash[0].is_zero() ? 1 : 0;
            if (!child[side]) {
                RETRACE_TRY(loaded, update_child(page, 2 * slot + 1 + side, path.child(side == 1), old[side],
                                                 Updates{}));
                child[side] = std::move(loaded);
            }
            stay = child[side]->node.kind == Kind::inner;
            if (!stay) out = child[side]->node;
        }
        for (std::size_t side = 0; side < 2; ++side) {
            if (child[side]) settle(page, 2 * slot + 1 + side, *child[side], stay);
        }
        return out;
    }

    /// A subtree of `leaves` alone, where no node below `path` is stored yet.
    SparseNode build(OpenPage& page, std::size_t slot, const NodePath& path, Updates leaves) {
        if (leaves.empty()) return {};
        if (leaves.size() == 1) return SparseNode::leaf({leaves[0].first, *leaves[0].second});
        const std::size_t middle = left_count(leaves, path.depth);
        const Updates halves[2] = {leaves.first(middle), leaves.subspan(middle)};
        Hash32 hash[2];
        for (std::size_t side = 0; side < 2; ++side) {
            const NodePath below = path.child(side == 1);
            Child child;
            if (below.depth % kPageLevels == 0) child.page = open(below, false);
            const std::size_t at = child.page ? 0 : 2 * slot + 1 + side;
            child.node = build(child.page ? *child.page : page, at, below, halves[side]);
            hash[side] = child.node.hash();
            settle(page, at, child, true);
        }
        return SparseNode::inner(hash[0], hash[1]);
    }

    const Store& store_;
    PageSink pages_;
    PageSink old_pages_;
    PagesAhead ahead_;
    std::vector<std::optional<Child>> done_;
};

/// Hashes of the subtrees at kSplitDepth; empty unless the root's page is full, so that every one has its
/// place.
std::vector<Hash32> split(const Store& store, const Hash32& root) {
    if (root.is_zero()) return {};
    const PageSlots nodes = decode_page(store.get(keys::page(NodePath{}.store_key())).value_or(Bytes{}));
    std::vector<Hash32> out;
    for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
        if (nodes[slot].kind != Kind::inner) return {};
        if (slot < kSubtrees / 2 - 1) continue;
        out.push_back(nodes[slot].left);
        out.push_back(nodes[slot].right);
    }
    return out;
}

struct Part {
    Updates updates;
    Updated child = Unexpected{SparseError::missing_node};
    PageWrites pages, old_pages;
};

std::vector<Part> update_parts(const Store& store, const std::vector<Hash32>& old, Updates updates,
                               unsigned threads) {
    std::vector<Part> parts(kSubtrees);
    for (std::size_t i = 0; i < kSubtrees; ++i) {
        const auto end = std::partition_point(updates.begin(), updates.end(), [i](const SparseUpdate& u) {
            return u.first.bytes[0] >> (8 - kSplitDepth) <= static_cast<int>(i);
        });
        parts[i].updates = updates.first(static_cast<std::size_t>(end - updates.begin()));
        updates = updates.subspan(parts[i].updates.size());
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < kSubtrees; i = next++) {
            Part& part = parts[i];
            if (part.updates.empty()) continue;
            Pass pass(store, part.pages, part.old_pages, PagesAhead(store, kSplitDepth, part.updates));
            part.child =
                pass.update_page(NodePath::of(part.updates[0].first, kSplitDepth), old[i], part.updates);
        }
    };
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < std::min<unsigned>(threads, kSubtrees); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    return parts;
}

}  // namespace

Result<TreeChange, SparseError> change_tree(const Store& store, const Hash32& root,
                                            const std::vector<SparseUpdate>& updates, unsigned threads) {
    const auto descends = [](const SparseUpdate& a, const SparseUpdate& b) { return a.first >= b.first; };
    ensure(std::adjacent_find(updates.begin(), updates.end(), descends) == updates.end(), "keys ascend");
    TreeChange out{root, {}, {}};
    if (updates.empty()) return out;
    const std::vector<Hash32> old =
        updates.size() >= kParallelMin ? split(store, root) : std::vector<Hash32>{};
    Pass pass(store, out.pages, out.old_pages, old.empty() ? PagesAhead(store, 0, updates) : PagesAhead());
    if (!old.empty()) {
        std::vector<std::optional<Child>> done(kSubtrees);
        std::vector<Part> parts = update_parts(store, old, updates, threads);
        PageSink pages(out.pages), old_pages(out.old_pages);
        for (std::size_t i = 0; i < kSubtrees; ++i) {
            if (parts[i].updates.empty()) continue;
            RETRACE_TRY(child, std::move(parts[i].child));
            done[i] = std::move(child);
            while (!parts[i].pages.empty()) pages.put(parts[i].pages.extract(parts[i].pages.begin()));
            while (!parts[i].old_pages.empty()) old_pages.put(parts[i].old_pages.extract(parts[i].old_pages.begin()));
        }
        pass.take_over(std::move(done));
    }
    RETRACE_TRY(top, pass.update_page(NodePath{}, root, updates));
    out.root = top.hash;
    top.page->nodes[0] = top.node;
    pass.flush(*top.page);
    return out;
}

}  // namespace retrace::ledger
