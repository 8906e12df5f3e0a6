// SPDX-License-Identifier: MIT
#include "ledger/chain/paged_tree.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

using merkle::NodePath;
using merkle::SparseError;
using merkle::SparseLeaf;
using merkle::SparseUpdate;
using Updates = std::span<const SparseUpdate>;

constexpr std::size_t kParallelMin = 256;  // fewer updates are not worth a thread

/// A page after its updates, not yet written, because its parent may take over its leaves.
struct Updated {
    Subtree top;
    std::unique_ptr<OpenPage> page;
};
using Children = std::array<std::optional<Updated>, kPlaces>;

/// Threads for the subtrees below the root's page, and the pages prefetched for them.
struct Workers {
    unsigned threads = 1;
    TreePrefetch prefetch;
};

std::vector<Hash32> keys_of(Updates updates) {
    std::vector<Hash32> out;
    out.reserve(updates.size());
    for (const SparseUpdate& update : updates) out.push_back(update.first);
    return out;
}

NodePath below(const NodePath& top, std::size_t place) {
    NodePath out = top;
    for (std::size_t bit = kPlaces / 2; bit > 0; bit /= 2) out = out.child((place & bit) != 0);
    return out;
}

Leaves at_place(Leaves leaves, std::size_t place, std::uint16_t depth) {
    const auto first =
        std::ranges::partition_point(leaves, [&](const SparseLeaf& leaf) { return place_of(leaf, depth) < place; });
    const Leaves rest = leaves.subspan(static_cast<std::size_t>(first - leaves.begin()));
    return rest.empty() || place_of(rest.front(), depth) != place ? Leaves{} : first_group(rest, depth);
}

Bucket merged(Leaves leaves, Updates updates) {
    Bucket out;
    out.reserve(leaves.size() + updates.size());
    for (const auto& [key, value_hash] : updates) {
        for (; !leaves.empty() && leaves.front().key < key; leaves = leaves.subspan(1)) out.push_back(leaves.front());
        if (!leaves.empty() && leaves.front().key == key) leaves = leaves.subspan(1);
        if (value_hash) out.push_back({key, *value_hash});
    }
    out.insert(out.end(), leaves.begin(), leaves.end());
    return out;
}

/// One pass over the changed part of a subtree.
class Pass {
public:
    Pass(const PageSource& source, std::vector<PageChange>& out, PagePrefetch prefetch)
        : source_(source), out_(out), prefetch_(std::move(prefetch)) {}

    /// Updates the subtree whose page has its top at `path`. If `workers` is given, its sixteen parts are updated in
    /// parallel.
    Result<Updated, SparseError> update(const NodePath& path, const Subtree& old, Updates updates,
                                        Workers* workers = nullptr) {
        RETRACE_TRY(page, open(path, old));
        if (std::holds_alternative<Branch>(page->before)) {
            return update_branch(path, old, updates, std::move(page), workers);
        }
        return update_bucket(path, old, updates, std::move(page));
    }

    void flush(OpenPage& page) {
        if (page.before == page.after) return;
        out_.push_back({std::move(page.key), encode_page(page.after), patch_of(page.before, page.after)});
    }

private:
    Result<std::unique_ptr<OpenPage>, SparseError> open(const NodePath& path, const Subtree& old) {
        if (old.count == 0) {  // nothing is stored there
            auto page = std::make_unique<OpenPage>();
            page->key = path.store_key();
            return page;
        }
        auto page = prefetch_.take(path);
        if (!page) page = source_.open(path.store_key());
        if (page->damaged) return Unexpected{SparseError::corrupt_node};
        const auto* bucket = std::get_if<Bucket>(&page->before);
        if (bucket != nullptr && bucket->empty()) return Unexpected{SparseError::missing_node};
        const bool in_place = bucket == nullptr
                                  ? path.depth < kPageDepthMax
                                  : merkle::shares_prefix(bucket->front().key, path.prefix, path.depth) &&
                                        merkle::shares_prefix(bucket->back().key, path.prefix, path.depth);
        if (!in_place) return Unexpected{SparseError::corrupt_node};
        return page;
    }

    Result<Updated, SparseError> update_bucket(const NodePath& path, const Subtree& old, Updates updates,
                                               std::unique_ptr<OpenPage> page) {
        Bucket leaves = merged(std::get<Bucket>(page->before), updates);
        Branch after = page->places;
        if (leaves.size() > kBucketMax) {
            after = build(path, leaves);
            page->after = after;
        } else {
            for (; !updates.empty(); updates = updates.subspan(first_group(updates, path.depth).size())) {
                const std::size_t place = place_of(updates.front(), path.depth);
                after[place] =
                    fold(at_place(leaves, place, path.depth), static_cast<std::uint16_t>(path.depth + kPageLevels));
            }
            page->after = std::move(leaves);
        }
        const Folded folded = fold_both(page->places, after);
        if (folded.before != old) return Unexpected{SparseError::corrupt_node};
        return Updated{folded.after, std::move(page)};
    }

    /// Builds pages for more leaves than one page holds where nothing is stored yet; returns the content of the page at
    /// `path`.
    Branch build(const NodePath& path, Leaves leaves) {
        Branch out{};
        while (!leaves.empty()) {
            const Leaves group = first_group(leaves, path.depth);
            const std::size_t place = place_of(group.front(), path.depth);
            const NodePath top = below(path, place);
            OpenPage page;
            page.key = top.store_key();
            if (group.size() <= kBucketMax) {
                out[place] = fold(group, top.depth);
                page.after = Bucket(group.begin(), group.end());
            } else {
                const Branch branch = build(top, group);
                out[place] = fold(branch);
                page.after = branch;
            }
            flush(page);
            leaves = leaves.subspan(group.size());
        }
        return out;
    }

    Result<Updated, SparseError> update_branch(const NodePath& path, const Subtree& old, Updates updates,
                                               std::unique_ptr<OpenPage> page, Workers* workers) {
        const Branch& before = page->places;
        Children children;
        RETRACE_CHECK(workers != nullptr ? update_side_by_side(path, before, updates, children, *workers)
                                         : update_children(path, before, updates, children));
        Branch after = before;
        std::uint8_t leaves = 0;
        for (std::size_t place = 0; place < kPlaces; ++place) {
            if (children[place]) after[place] = children[place]->top;
            leaves = add_counts(leaves, after[place].count);
        }
        const Folded folded = fold_both(before, after);
        if (folded.before != old) return Unexpected{SparseError::corrupt_node};
        if (leaves == kMany) {
            page->after = after;
        } else {
            RETRACE_TRY(bucket, take_leaves(path, after, children));
            page->after = std::move(bucket);
        }
        for (auto& child : children) {
            if (child) flush(*child->page);
        }
        return Updated{folded.after, std::move(page)};
    }

    /// Returns the leaves of children that became few enough for one page; the children's own pages become empty.
    Result<Bucket, SparseError> take_leaves(const NodePath& path, const Branch& branch, Children& children) {
        Bucket out;
        for (std::size_t place = 0; place < kPlaces; ++place) {
            if (branch[place].count == 0) continue;
            if (!children[place]) {
                RETRACE_TRY(child, update(below(path, place), branch[place], {}));
                children[place] = std::move(child);
            }
            Bucket& bucket = std::get<Bucket>(children[place]->page->after);
            out.insert(out.end(), bucket.begin(), bucket.end());
            bucket.clear();
        }
        return out;
    }

    Status<SparseError> update_children(const NodePath& path, const Branch& before, Updates updates,
                                        Children& children) {
        while (!updates.empty()) {
            const Updates group = first_group(updates, path.depth);
            const std::size_t place = place_of(group.front(), path.depth);
            RETRACE_TRY(child, update(below(path, place), before[place], group));
            children[place] = std::move(child);
            updates = updates.subspan(group.size());
        }
        return Unit{};
    }

    Status<SparseError> update_side_by_side(const NodePath& path, const Branch& before, Updates updates,
                                            Children& children, Workers& workers) {
        struct Part {
            Updates updates;
            std::size_t place = 0;
            std::vector<PageChange> pages;
            Result<Updated, SparseError> child = Unexpected{SparseError::missing_node};
        };
        std::vector<Part> parts;
        for (; !updates.empty(); updates = updates.subspan(parts.back().updates.size())) {
            Part& part = parts.emplace_back();
            part.updates = first_group(updates, path.depth);
            part.place = place_of(part.updates.front(), path.depth);
        }
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t i = next++; i < parts.size(); i = next++) {
                Part& part = parts[i];
                const NodePath top = below(path, part.place);
                PagePrefetch& prefetch = workers.prefetch[part.place];
                if (prefetch.empty()) prefetch = PagePrefetch(source_, top.depth, keys_of(part.updates));
                Pass pass(source_, part.pages, std::move(prefetch));
                part.child = pass.update(top, before[part.place], part.updates);
            }
        };
        std::vector<std::thread> helpers;
        for (std::size_t i = 1; i < std::min<std::size_t>(workers.threads, parts.size()); ++i)
            helpers.emplace_back(work);
        work();
        for (std::thread& helper : helpers) helper.join();
        for (Part& part : parts) {
            RETRACE_TRY(child, std::move(part.child));
            children[part.place] = std::move(child);
            std::move(part.pages.begin(), part.pages.end(), std::back_inserter(out_));
        }
        return Unit{};
    }

    const PageSource& source_;
    std::vector<PageChange>& out_;
    PagePrefetch prefetch_;
};

/// The entry that a parent of the root's page would hold for it.
Subtree top_of(const PageSource& source, const Hash32& root) {
    if (root.is_zero()) return {};
    const auto page = source.open(NodePath{}.store_key());
    const auto* bucket = std::get_if<Bucket>(&page->before);
    return {bucket != nullptr ? static_cast<std::uint8_t>(std::max<std::size_t>(bucket->size(), 1)) : kMany, root};
}

}  // namespace

Result<TreeChange, SparseError> change_tree(const PageSource& source, const Hash32& root,
                                            const std::vector<SparseUpdate>& updates, unsigned threads,
                                            TreePrefetch prefetch) {
    const auto descends = [](const SparseUpdate& a, const SparseUpdate& b) { return a.first >= b.first; };
    ensure(std::adjacent_find(updates.begin(), updates.end(), descends) == updates.end(), "keys ascend");
    TreeChange out{root, {}};
    if (updates.empty()) return out;
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    Workers workers{updates.size() < kParallelMin ? 1 : threads, std::move(prefetch)};
    Pass pass(source, out.pages, {});
    RETRACE_TRY(top, pass.update(NodePath{}, top_of(source, root), updates, &workers));
    pass.flush(*top.page);
    out.root = top.top.hash;
    const auto by_key = [](const PageChange& a, const PageChange& b) { return a.key < b.key; };
    std::sort(out.pages.begin(), out.pages.end(), by_key);
    return out;
}

}  // namespace retrace::ledger
