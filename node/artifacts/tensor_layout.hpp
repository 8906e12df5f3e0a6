// SPDX-License-Identifier: MIT
// Between tiles and row-major elements, and the fixed head of a tensor file.
#pragma once

#include "kernels/commit/commitment.hpp"
#include "node/platform/fault.hpp"
#include "node/wire/artifact_codec.hpp"

namespace retrace::node {

inline constexpr std::size_t kTensorFileHead = 128;

/// kTensorFileHead bytes.
Bytes tensor_file_head(const kernels::TensorHeader& header);
/// The header of a file that is `file_size` long; corrupt unless it hashes to `root` and the length fits.
Result<kernels::TensorHeader, Failure> read_tensor_file_head(View head, std::uint64_t file_size,
                                                             const Hash32& root);

std::uint64_t data_bytes(const kernels::TensorHeader& header);
/// `header` hashes to `root`, and its tree is over as many tiles as its extents say (an empty tensor has no
/// tree).
Status<Failure> check_header(const Hash32& root, const kernels::TensorHeader& header);
/// Position, proof and contents of every tile of `range` against its own header.
Status<Failure> check_range(const wire::TileRange& range);
/// Tiles [first, first + count) out of row-major elements, with their proof; fewer when the range runs over
/// wire::kRangeTilesMax or the end. out_of_range when the first one does not exist.
Result<wire::TileRange, Failure> cut_range(const kernels::TensorHeader& header, const std::uint8_t* data,
                                           const merkle::TileTree& tree, std::uint64_t first,
                                           std::uint64_t count);
inline constexpr std::uint64_t kLeavesMax = 65'536;  ///< Hashes of one message: 2 MiB.
/// Hashes of tiles [first, first + count), at least one and at most kLeavesMax; out_of_range.
Result<Bytes, Failure> cut_leaves(const merkle::TileTree& tree, std::uint64_t first, std::uint64_t count);
/// Writes one tile's elements to their rows in `data`; its padding is dropped.
void scatter_tile(View tile, std::uint32_t element_size, const kernels::Geometry& shape, std::uint64_t index,
                  std::uint8_t* data);

}  // namespace retrace::node
