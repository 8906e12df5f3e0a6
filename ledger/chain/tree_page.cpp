// SPDX-License-Identifier: MIT
#include "ledger/chain/tree_page.hpp"

#include <algorithm>

#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::ledger {
namespace {

using merkle::SparseLeaf;

/// First byte of a patch.
enum class PatchKind : std::uint8_t { whole = 0, bucket = 1, branch = 2 };

bool ascend(const Bucket& leaves) {
    const auto wrong = [](const SparseLeaf& a, const SparseLeaf& b) { return a.key >= b.key; };
    return std::adjacent_find(leaves.begin(), leaves.end(), wrong) == leaves.end();
}

Subtree join(const Subtree& left, const Subtree& right) {
    const std::uint8_t count = add_counts(left.count, right.count);
    if (count == 0) return {};
    if (count == 1) return left.count == 1 ? left : right;  // a lone leaf moves up
    return {count, merkle::node_hash(left.hash, right.hash)};
}

Leaves left_half(Leaves leaves, std::uint16_t depth) {
    const auto middle = std::partition_point(leaves.begin(), leaves.end(),
                                             [&](const SparseLeaf& leaf) { return !merkle::key_bit(leaf.key, depth); });
    return leaves.first(static_cast<std::size_t>(middle - leaves.begin()));
}

Subtree read_subtree(Reader& in) {
    Subtree out;
    out.count = in.u8();
    if (out.count > kMany) in.fail(CodecError::not_canonical);
    if (out.count > 0) out.hash = in.hash();
    return out;
}

void write_subtree(Writer& out, const Subtree& subtree) {
    out.u8(subtree.count);
    if (subtree.count > 0) out.hash(subtree.hash);
}

/// Puts `leaf` into the bucket; a zero value hash removes it.
void put_leaf(Bucket& bucket, const SparseLeaf& leaf) {
    const auto by_key = [](const SparseLeaf& a, const Hash32& key) { return a.key < key; };
    const auto at = std::lower_bound(bucket.begin(), bucket.end(), leaf.key, by_key);
    const bool there = at != bucket.end() && at->key == leaf.key;
    if (leaf.value_hash.is_zero()) {
        if (there) bucket.erase(at);
    } else if (there) {
        *at = leaf;
    } else {
        bucket.insert(at, leaf);
    }
}

/// Writes the leaves to put into `now` to get `before`; a zero value hash marks a leaf that `before` lacks.
void write_bucket_patch(Writer& out, Leaves before, Leaves now) {
    while (!before.empty() || !now.empty()) {
        const bool old = !before.empty() && (now.empty() || before[0].key <= now[0].key);
        const bool present = !now.empty() && (before.empty() || now[0].key <= before[0].key);
        if (!(old && present && before[0] == now[0])) {
            out.hash(old ? before[0].key : now[0].key).hash(old ? before[0].value_hash : Hash32{});
        }
        if (old) before = before.subspan(1);
        if (present) now = now.subspan(1);
    }
}

}  // namespace

std::size_t place_of(const Hash32& key, std::uint16_t depth) noexcept {
    const std::uint8_t byte = key.bytes[depth / 8];
    return depth % 8 == 0 ? byte >> 4 : byte & 0xf;
}

std::uint8_t add_counts(std::uint8_t a, std::uint8_t b) noexcept {
    return static_cast<std::uint8_t>(std::min<unsigned>(unsigned{a} + b, kMany));
}

Bytes encode_page(const TreePage& page) {
    Bytes out;
    const auto append = [&out](const Hash32& hash) { out.insert(out.end(), hash.bytes.begin(), hash.bytes.end()); };
    if (const auto* bucket = std::get_if<Bucket>(&page)) {
        if (bucket->empty()) return {};
        out.reserve(1 + bucket->size() * 2 * Hash32::size());
        out.push_back(static_cast<std::uint8_t>(bucket->size()));
        for (const SparseLeaf& leaf : *bucket) {
            append(leaf.key);
            append(leaf.value_hash);
        }
        return out;
    }
    out.reserve(1 + kPlaces * (1 + Hash32::size()));
    out.push_back(kMany);
    for (const Subtree& below : std::get<Branch>(page)) {
        out.push_back(below.count);
        if (below.count > 0) append(below.hash);
    }
    return out;
}

std::optional<TreePage> decode_page(View bytes) {
    if (bytes.empty()) return Bucket{};
    Reader in(bytes);
    const std::uint8_t count = in.u8();
    if (count == kMany) {
        Branch branch;
        std::uint8_t leaves = 0;
        for (Subtree& below : branch) {
            below = read_subtree(in);
            leaves = add_counts(leaves, below.count);
        }
        if (!in.finish() || leaves != kMany) return std::nullopt;
        return branch;
    }
    if (count == 0 || count > kBucketMax) return std::nullopt;
    Bucket bucket(count);
    for (SparseLeaf& leaf : bucket) {
        leaf.key = in.hash();
        leaf.value_hash = in.hash();
    }
    if (!in.finish() || !ascend(bucket)) return std::nullopt;
    return bucket;
}

Branch places_of(const TreePage& page, std::uint16_t depth) {
    if (const auto* branch = std::get_if<Branch>(&page)) return *branch;
    Branch out{};
    for (Leaves rest = std::get<Bucket>(page); !rest.empty();) {
        const Leaves group = first_group(rest, depth);
        out[place_of(group.front(), depth)] = fold(group, static_cast<std::uint16_t>(depth + kPageLevels));
        rest = rest.subspan(group.size());
    }
    return out;
}

Subtree fold(Leaves leaves, std::uint16_t depth) {
    if (leaves.empty()) return {};
    if (leaves.size() == 1) return {1, merkle::sparse_leaf_hash(leaves[0])};
    const Leaves left = left_half(leaves, depth);
    const auto below = static_cast<std::uint16_t>(depth + 1);
    return join(fold(left, below), fold(leaves.subspan(left.size()), below));
}

Subtree fold(std::span<const Subtree> places) {
    if (places.size() == 1) return places[0];
    const std::size_t half = places.size() / 2;
    return join(fold(places.first(half)), fold(places.subspan(half)));
}

Folded fold_both(std::span<const Subtree> before, std::span<const Subtree> after) {
    if (before.size() == 1) return {before[0], after[0]};
    if (std::ranges::equal(before, after)) {
        const Subtree both = fold(before);
        return {both, both};
    }
    const std::size_t half = before.size() / 2;
    const Folded left = fold_both(before.first(half), after.first(half));
    const Folded right = fold_both(before.subspan(half), after.subspan(half));
    return {join(left.before, right.before), join(left.after, right.after)};
}

Bytes patch_of(const TreePage& before, const TreePage& now) {
    Writer out;
    const auto* old_bucket = std::get_if<Bucket>(&before);
    const auto* new_bucket = std::get_if<Bucket>(&now);
    if ((old_bucket != nullptr) != (new_bucket != nullptr)) {
        out.u8(static_cast<std::uint8_t>(PatchKind::whole)).raw(encode_page(before));
    } else if (old_bucket != nullptr) {
        out.u8(static_cast<std::uint8_t>(PatchKind::bucket));
        write_bucket_patch(out, *old_bucket, *new_bucket);
    } else {
        out.u8(static_cast<std::uint8_t>(PatchKind::branch));
        const Branch& old_branch = std::get<Branch>(before);
        const Branch& new_branch = std::get<Branch>(now);
        for (std::uint8_t place = 0; place < kPlaces; ++place) {
            if (old_branch[place] != new_branch[place]) write_subtree(out.u8(place), old_branch[place]);
        }
    }
    return std::move(out).take();
}

std::optional<TreePage> patched(TreePage page, View patch) {
    Reader in(patch);
    const auto kind = static_cast<PatchKind>(in.u8());
    if (!in.ok()) return std::nullopt;
    if (kind == PatchKind::whole) return decode_page(patch.subspan(1));
    if (kind == PatchKind::bucket) {
        auto* bucket = std::get_if<Bucket>(&page);
        if (bucket == nullptr) return std::nullopt;
        while (in.ok() && in.left() > 0) {
            const Hash32 key = in.hash();
            const Hash32 value_hash = in.hash();
            if (in.ok()) put_leaf(*bucket, {key, value_hash});
        }
    } else if (kind == PatchKind::branch) {
        auto* branch = std::get_if<Branch>(&page);
        if (branch == nullptr) return std::nullopt;
        while (in.ok() && in.left() > 0) {
            const std::uint8_t place = in.u8();
            const Subtree before = read_subtree(in);
            if (place >= kPlaces) return std::nullopt;
            (*branch)[place] = before;
        }
    } else {
        return std::nullopt;
    }
    const auto* bucket = std::get_if<Bucket>(&page);
    if (!in.finish() || (bucket != nullptr && bucket->size() > kBucketMax)) return std::nullopt;
    return page;
}

}  // namespace retrace::ledger
