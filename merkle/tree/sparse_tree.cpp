// SPDX-License-Identifier: MIT
#include "merkle/tree/sparse_tree.hpp"

#include <algorithm>
#include <span>

#include "merkle/base/ensure.hpp"

namespace retrace::merkle {
namespace {

using Kind = SparseNode::Kind;
using Loaded = Result<SparseNode, SparseError>;
using Updates = std::span<const SparseUpdate>;

Loaded load(const NodeStore& store, const NodePath& path, const Hash32& hash) {
    if (hash.is_zero()) return SparseNode{};
    const std::optional<Bytes> bytes = store.get(path.store_key());
    if (!bytes) return Unexpected{SparseError::missing_node};
    const std::optional<SparseNode> node = SparseNode::decode(*bytes);
    if (!node || node->hash() != hash) return Unexpected{SparseError::corrupt_node};
    const bool in_place =
        node->kind == Kind::leaf ? shares_prefix(node->left, path.prefix, path.depth) : path.depth < kSparseDepthMax;
    if (!in_place) return Unexpected{SparseError::corrupt_node};
    return *node;
}

// Returns the number of updates in the left half of a subtree: those whose bit at `depth` is 0, which come first.
std::size_t left_count(Updates updates, std::uint16_t depth) {
    const auto middle = std::partition_point(updates.begin(), updates.end(),
                                             [&](const SparseUpdate& u) { return !key_bit(u.first, depth); });
    return static_cast<std::size_t>(middle - updates.begin());
}

// One pass over the changed part of the tree. Every step returns the new node of its path without writing it; the
// parent writes its children once they are known to stay, because a lone leaf moves up into the parent's place.
class Pass {
public:
    Pass(const NodeStore& store, NodeWrites& writes) : store_(store), writes_(writes) {}

    // Returns the node at `path` after `updates`, all of which lie under it. `old` is its hash before.
    Loaded update(const NodePath& path, const Hash32& old, Updates updates) {
        RETRACE_TRY(node, load(store_, path, old));
        if (updates.empty()) return node;
        if (node.kind == Kind::inner) return update_inner(path, node, updates);
        return build(path, with_leaf(node, updates));
    }

    void write(const NodePath& path, const Hash32& old, const SparseNode& node, const Hash32& hash) {
        if (hash != old) writes_[path.store_key()] = node.encode();
    }

private:
    Loaded update_inner(const NodePath& path, const SparseNode& node, Updates updates) {
        const NodePath paths[2] = {path.child(false), path.child(true)};
        const Hash32 old[2] = {node.left, node.right};
        const std::size_t middle = left_count(updates, path.depth);
        const Updates halves[2] = {updates.first(middle), updates.subspan(middle)};
        // An untouched child is read only if its sibling vanishes: only then must it be known whether it is a leaf.
        std::optional<SparseNode> child[2];
        Hash32 hash[2] = {old[0], old[1]};
        for (int side = 0; side < 2; ++side) {
            if (halves[side].empty()) continue;
            RETRACE_TRY(updated, update(paths[side], old[side], halves[side]));
            hash[side] = updated.hash();
            child[side] = updated;
        }
        if (hash[0].is_zero() || hash[1].is_zero()) {
            const int side = hash[0].is_zero() ? 1 : 0;
            if (!child[side]) {
                RETRACE_TRY(loaded, load(store_, paths[side], hash[side]));
                child[side] = loaded;
            }
            if (child[side]->kind != Kind::inner) {
                for (int s = 0; s < 2; ++s) write(paths[s], old[s], SparseNode{}, Hash32{});
                return *child[side];
            }
        }
        for (int side = 0; side < 2; ++side) {
            if (child[side]) write(paths[side], old[side], *child[side], hash[side]);
        }
        return SparseNode::inner(hash[0], hash[1]);
    }

    // Returns the leaves, sorted, that remain when `updates` are applied to an empty subtree or a single leaf.
    static std::vector<SparseUpdate> with_leaf(const SparseNode& node, Updates updates) {
        std::vector<SparseUpdate> out;
        out.reserve(updates.size() + 1);
        for (const SparseUpdate& update : updates) {
            if (update.second) out.push_back(update);
        }
        if (node.kind != Kind::leaf) return out;
        const SparseLeaf leaf = node.as_leaf();
        const auto by_key = [](const SparseUpdate& u, const Hash32& key) { return u.first < key; };
        const auto touched = std::lower_bound(updates.begin(), updates.end(), leaf.key, by_key);
        if (touched != updates.end() && touched->first == leaf.key) return out;
        out.insert(std::lower_bound(out.begin(), out.end(), leaf.key, by_key), {leaf.key, leaf.value_hash});
        return out;
    }

    // Builds a subtree of `leaves` where no node below `path` is stored yet.
    SparseNode build(const NodePath& path, Updates leaves) {
        if (leaves.empty()) return {};
        if (leaves.size() == 1) return SparseNode::leaf({leaves[0].first, *leaves[0].second});
        const std::size_t middle = left_count(leaves, path.depth);
        const NodePath paths[2] = {path.child(false), path.child(true)};
        const SparseNode children[2] = {build(paths[0], leaves.first(middle)), build(paths[1], leaves.subspan(middle))};
        const Hash32 hash[2] = {children[0].hash(), children[1].hash()};
        for (int side = 0; side < 2; ++side) write(paths[side], Hash32{}, children[side], hash[side]);
        return SparseNode::inner(hash[0], hash[1]);
    }

    const NodeStore& store_;
    NodeWrites& writes_;
};

struct PathEnd {
    SparseProof proof;  // `other` stays unset here.
    SparseNode node;    // Empty or a leaf, possibly of another key.
};

Result<PathEnd, SparseError> descend(const NodeStore& store, const Hash32& root, const Hash32& key) {
    PathEnd end;
    NodePath path;
    Hash32 hash = root;
    for (;;) {
        RETRACE_TRY(node, load(store, path, hash));
        end.node = node;
        if (node.kind != Kind::inner) return end;
        const bool right = key_bit(key, path.depth);
        end.proof.siblings.push_back(right ? node.left : node.right);
        hash = right ? node.right : node.left;
        path = path.child(right);
    }
}

}  // namespace

Result<SparseTree::Change, SparseError> SparseTree::apply(const std::vector<SparseUpdate>& updates) const {
    const auto descends = [](const SparseUpdate& a, const SparseUpdate& b) { return a.first >= b.first; };
    ensure(std::adjacent_find(updates.begin(), updates.end(), descends) == updates.end(), "keys ascend");
    Change change{root_, {}};
    if (updates.empty()) return change;
    Pass pass(store_, change.writes);
    RETRACE_TRY(node, pass.update(NodePath{}, root_, updates));
    change.root = node.hash();
    pass.write(NodePath{}, root_, node, change.root);
    return change;
}

Result<std::optional<Hash32>, SparseError> SparseTree::find(const Hash32& key) const {
    RETRACE_TRY(end, descend(store_, root_, key));
    if (end.node.kind != Kind::leaf || end.node.as_leaf().key != key) return std::optional<Hash32>{};
    return std::optional<Hash32>{end.node.as_leaf().value_hash};
}

Result<SparseProof, SparseError> SparseTree::prove(const Hash32& key) const {
    RETRACE_TRY(end, descend(store_, root_, key));
    if (end.node.kind == Kind::leaf && end.node.as_leaf().key != key) end.proof.other = end.node.as_leaf();
    return end.proof;
}

}  // namespace retrace::merkle
