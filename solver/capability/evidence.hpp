// SPDX-License-Identifier: MIT
// Evidence that drawn elements of a benchmark run are right (tiles with their proofs), and its verification by the
// ledger. Each round's state is committed as a tensor of fp32 [2048, 32], so that a tile is four rows of the 256×256
// state; the run is the tree over append_leaf(tensor root of S_{t+1}), t = 0 .. rounds-1.
#pragma once

#include <optional>

#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"
#include "solver/capability/program.hpp"

namespace retrace::solver {

/// Four rows of a state, opened.
struct OpenedRows {
    Bytes tile;                ///< 4,096 bytes.
    merkle::MultiProof proof;  ///< Proves the tile in the state.
};
struct CapabilityItem {
    std::optional<OpenedRows> input;  ///< Rows of S_round; absent for round 0, because S_0 follows from the seed.
    OpenedRows output;                ///< Rows of S_{round+1}.
    merkle::MultiProof history;       ///< Proves both states' roots in the run.
};
/// One item for each draw, in order.
struct CapabilityProof {
    std::vector<CapabilityItem> items;
};

/// 8 items of two tiles, two proofs of 6 and one of 48 siblings.
inline constexpr std::size_t kCapabilityProofBytesMax = 84 * 1024;
Bytes encode(const CapabilityProof& proof);
Result<CapabilityProof, CodecError> decode_capability_proof(View bytes);

/// Root of a state's tensor.
Hash32 capability_state_root(const std::vector<float>& state, kernels::ThreadPool& pool);
merkle::TileTree capability_state_tree(const std::vector<float>& state, kernels::ThreadPool& pool);
/// The leaf of a state in its run.
Hash32 capability_leaf(const Hash32& state_root);
/// The root that the ledger stores for a run of these leaves.
Hash32 capability_root(const std::vector<Hash32>& leaves);

/// Checks that `proof` opens the run under `root` at every draw and that each drawn element follows from its input row.
/// The error names the first fault.
Status<> verify_capability(const CapabilityProof& proof, std::uint64_t seed, std::uint64_t rounds, const Hash32& root,
                           const std::vector<CapabilityDraw>& draws);

/// Opens the rows that hold row `row` of `state`.
OpenedRows open_rows(const std::vector<float>& state, std::uint32_t row, kernels::ThreadPool& pool);

}  // namespace retrace::solver
