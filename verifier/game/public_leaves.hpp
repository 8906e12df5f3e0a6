// SPDX-License-Identifier: MIT
// The roots of some tensors of a state, shown to a reader that has the state's root alone: how a member of a group opens
// its states (SPEC 9).
#pragma once

#include <span>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::verifier {

/// Roots of chosen state tensors, with what proves them under a state root.
struct PublicLeaves {
    kernels::StateHeader header;     ///< Preimage of the state root.
    kernels::ProgramHeader program;  ///< Of a program over the state's tensors: gives their number.
    std::vector<Hash32> leaves;      ///< Tensor roots, by ascending number of the tensor.
    merkle::MultiProof proof;        ///< Of their state leaves under header.tree_root.
    bool operator==(const PublicLeaves&) const = default;
};

/// Limit on the tensors that are shown at once.
inline constexpr std::size_t kPublicLeavesMax = 32;
/// Limit on the bytes of encoded leaves that a reader accepts.
inline constexpr std::size_t kPublicLeavesBytesMax = 40 * 1024;

/// Shows the tensors with these numbers (ascending, of the state; asserted). `program` is the header of a program over
/// the state's tensors.
PublicLeaves make_public_leaves(const kernels::StateCommitment& state, const kernels::ProgramHeader& program,
                                std::span<const std::uint32_t> tensors);
Bytes encode(const PublicLeaves& shown);
Result<PublicLeaves, CodecError> decode_public_leaves(View bytes);
/// Whether `shown.leaves` are the roots of exactly the tensors with these numbers in the state with this root. The
/// number of the state's tensors is that of the program with root `program_root`. What the state's header says is the
/// caller's to check.
bool shows(const PublicLeaves& shown, const Hash32& state_root, std::span<const std::uint32_t> tensors,
           const Hash32& program_root);

}  // namespace retrace::verifier
