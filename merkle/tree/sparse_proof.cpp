// SPDX-License-Identifier: MIT
#include "merkle/tree/sparse_proof.hpp"

#include <algorithm>

#include "merkle/tree/tile_tree.hpp"

namespace retrace::merkle {

Status<SparseError> verify_sparse(const Hash32& root, const Hash32& key, const std::optional<Hash32>& value_hash,
                                  const SparseProof& proof) {
    if (proof.siblings.size() > kSparseDepthMax) return Unexpected{SparseError::too_long};
    const auto depth = static_cast<std::uint16_t>(proof.siblings.size());
    Hash32 node;
    if (value_hash) {
        if (proof.other) return Unexpected{SparseError::needless_leaf};
        node = sparse_leaf_hash({key, *value_hash});
    } else if (proof.other) {
        // A leaf elsewhere proves nothing about this key: the leaf must be the only one in the subtree that would hold
        // the key.
        if (proof.other->key == key || !shares_prefix(proof.other->key, key, depth)) {
            return Unexpected{SparseError::misplaced_leaf};
        }
        node = sparse_leaf_hash(*proof.other);
    }
    for (std::uint16_t at = depth; at-- > 0;) {
        node = key_bit(key, at) ? node_hash(proof.siblings[at], node) : node_hash(node, proof.siblings[at]);
    }
    if (node != root) return Unexpected{SparseError::wrong_root};
    return Unit{};
}

void encode_to(Writer& out, const SparseProof& proof) {
    out.u32(static_cast<std::uint32_t>(proof.siblings.size()));
    for (const Hash32& sibling : proof.siblings) out.hash(sibling);
    out.boolean(proof.other.has_value());
    if (proof.other) out.hash(proof.other->key).hash(proof.other->value_hash);
}

SparseProof decode_sparse_proof(Reader& in, std::size_t max_siblings) {
    SparseProof proof;
    const std::uint32_t count = in.count(std::min<std::size_t>(max_siblings, kSparseDepthMax), Hash32::size());
    proof.siblings.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) proof.siblings.push_back(in.hash());
    if (in.boolean()) {
        SparseLeaf leaf;
        leaf.key = in.hash();
        leaf.value_hash = in.hash();
        proof.other = leaf;
    }
    return proof;
}

}  // namespace retrace::merkle
