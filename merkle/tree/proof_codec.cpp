// SPDX-License-Identifier: MIT
#include "merkle/tree/proof_codec.hpp"

#include <algorithm>

namespace retrace::merkle {

void encode_to(Writer& out, const MultiProof& proof) {
    out.u32(static_cast<std::uint32_t>(proof.siblings.size()));
    for (const Hash32& sibling : proof.siblings) out.hash(sibling);
}

MultiProof decode_multi_proof(Reader& in, std::size_t max_siblings) {
    MultiProof proof;
    const std::uint32_t count = in.count(max_siblings, Hash32::size());
    proof.siblings.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) proof.siblings.push_back(in.hash());
    return proof;
}

std::uint64_t max_proof_siblings(std::uint64_t leaf_count, std::uint64_t opened) noexcept {
    std::uint64_t total = 0;
    for (std::uint64_t width = leaf_count; width > 1; width = width / 2 + width % 2) {
        // A level has at most one sibling per opened node, and none for a pair whose nodes are both opened.
        total += std::min(opened, width / 2);
    }
    return total;
}

}  // namespace retrace::merkle
