// SPDX-License-Identifier: MIT
// Proofs that a key is in the sparse tree with a value, or is not in it. SPEC 5.4.
#pragma once

#include <optional>
#include <vector>

#include "merkle/base/codec.hpp"
#include "merkle/tree/sparse_node.hpp"

namespace retrace::merkle {

/// The siblings from the root down to the end of the key's path. The path ends at the key's own leaf (presence), at an
/// empty subtree, or at `other`, the one leaf of a subtree that would hold the key (absence).
struct SparseProof {
    std::vector<Hash32> siblings;
    std::optional<SparseLeaf> other;
    bool operator==(const SparseProof&) const = default;
};

/// Verifies that under `root` the key has that value hash, or with nullopt that it has none. Computes at most 257
/// hashes, whatever the proof holds.
Status<SparseError> verify_sparse(const Hash32& root, const Hash32& key, const std::optional<Hash32>& value_hash,
                                  const SparseProof& proof);

/// Encodes a u32 count and the siblings, then a bool and the witness's key and value hash. SPEC 5.5.
void encode_to(Writer& out, const SparseProof& proof);
/// Reads at most `max_siblings` (itself at most 256); `in` keeps any error.
SparseProof decode_sparse_proof(Reader& in, std::size_t max_siblings = kSparseDepthMax);

}  // namespace retrace::merkle
