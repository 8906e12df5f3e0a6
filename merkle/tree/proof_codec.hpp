// SPDX-License-Identifier: MIT
// Bytes of a MultiProof: u32 count, then the siblings. SPEC 3.5.
#pragma once

#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::merkle {

void encode_to(Writer& out, const MultiProof& proof);
/// At most `max_siblings`; failures are the reader's.
MultiProof decode_multi_proof(Reader& in, std::size_t max_siblings);

/// Siblings that a proof of `opened` leaves out of `leaf_count` can need at the very most; a limit for decoding.
std::uint64_t max_proof_siblings(std::uint64_t leaf_count, std::uint64_t opened) noexcept;

}  // namespace retrace::merkle
