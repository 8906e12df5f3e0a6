// SPDX-License-Identifier: MIT
// Encoding of a MultiProof: u32 count, then the siblings. SPEC 3.5.
#pragma once

#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::merkle {

void encode_to(Writer& out, const MultiProof& proof);
/// Reads at most `max_siblings`; `in` keeps any error.
MultiProof decode_multi_proof(Reader& in, std::size_t max_siblings);

/// Returns an upper bound on the siblings of a proof of `opened` leaves out of `leaf_count`, as a limit for decoding.
std::uint64_t max_proof_siblings(std::uint64_t leaf_count, std::uint64_t opened) noexcept;

}  // namespace retrace::merkle
