// SPDX-License-Identifier: MIT
// SPEC 9. The leaves of chosen state tensors, and their proof.
#include "verifier/game/public_leaves.hpp"

#include "merkle/base/ensure.hpp"
#include "merkle/tree/proof_codec.hpp"
#include "verifier/game/codec_helpers.hpp"

namespace retrace::verifier {

PublicLeaves make_public_leaves(const kernels::StateCommitment& state, const kernels::ProgramHeader& program,
                                std::span<const std::uint32_t> tensors) {
    ensure(program.states == state.tensor_roots.size(), "a program over the state's tensors");
    ensure(tensors.size() <= kPublicLeavesMax, "tensors that can be shown at once");
    PublicLeaves shown{state.header, program, {}, {}};
    for (const std::uint32_t tensor : tensors) shown.leaves.push_back(state.tensor_roots.at(tensor));
    shown.proof = state.tree().prove(std::vector<std::uint64_t>(tensors.begin(), tensors.end()));
    return shown;
}

Bytes encode(const PublicLeaves& shown) {
    Writer out;
    shown.header.encode_to(out);
    shown.program.encode_to(out);
    put_hashes(out, shown.leaves);
    merkle::encode_to(out, shown.proof);
    return std::move(out).take();
}

Result<PublicLeaves, CodecError> decode_public_leaves(View bytes) {
    if (bytes.size() > kPublicLeavesBytesMax) return Unexpected{CodecError::too_long};
    Reader in(bytes);
    PublicLeaves shown;
    shown.header = kernels::StateHeader::decode_from(in);
    shown.program = kernels::ProgramHeader::decode_from(in);
    shown.leaves = get_hashes(in, kPublicLeavesMax);
    shown.proof = merkle::decode_multi_proof(in, kSiblingsMax);
    RETRACE_CHECK(in.finish());
    return shown;
}

bool shows(const PublicLeaves& shown, const Hash32& state_root, std::span<const std::uint32_t> tensors,
           const Hash32& program_root) {
    // Without the program, whoever made the state could choose the shape of its tree, and so show tensors that are not
    // those of the state which the game descends into.
    if (shown.header.root() != state_root || shown.program.root() != program_root) return false;
    if (shown.leaves.size() != tensors.size()) return false;
    std::vector<merkle::IndexedLeaf> leaves;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        leaves.push_back({tensors[i], kernels::state_leaf(tensors[i], shown.leaves[i])});
    return merkle::verify(shown.header.tree_root, shown.program.states, leaves, shown.proof).has_value();
}

}  // namespace retrace::verifier
