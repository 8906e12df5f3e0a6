// SPDX-License-Identifier: MIT
// Converts between tiles and row-major elements, and reads and writes the fixed head of a tensor file.
#pragma once

#include "kernels/commit/commitment.hpp"
#include "node/platform/fault.hpp"
#include "node/wire/artifact_codec.hpp"

namespace retrace::node {

inline constexpr std::size_t kTensorFileHead = 128;

/// Returns the encoded header, padded to kTensorFileHead bytes.
Bytes tensor_file_head(const kernels::TensorHeader& header);
/// Returns the header of a file of `file_size` bytes; corrupt unless it hashes to `root` and the size fits.
Result<kernels::TensorHeader, Failure> read_tensor_file_head(View head, std::uint64_t file_size, const Hash32& root);

std::uint64_t data_bytes(const kernels::TensorHeader& header);
/// Checks that `header` hashes to `root` and that its tree covers as many tiles as its extents say (an empty tensor has
/// no tree).
Status<Failure> check_header(const Hash32& root, const kernels::TensorHeader& header);
/// Checks position, proof and contents of every tile of `range` against its own header.
Status<Failure> check_range(const wire::TileRange& range);
/// Returns the range of tiles [first, first + count) with its proof and zeros for its contents; fewer if the range
/// exceeds wire::kRangeTilesMax or the end. out_of_range if the first tile does not exist.
Result<wire::TileRange, Failure> prove_range(const kernels::TensorHeader& header, const merkle::TileTree& tree,
                                             std::uint64_t first, std::uint64_t count);
/// Returns tiles [first, first + count) of row-major elements with their proof; bounded as by prove_range.
Result<wire::TileRange, Failure> cut_range(const kernels::TensorHeader& header, const std::uint8_t* data,
                                           const merkle::TileTree& tree, std::uint64_t first, std::uint64_t count);
inline constexpr std::size_t kPackedTensorsMax = 16;  ///< Tensors of a member's message in one request.
inline constexpr std::uint64_t kLeavesMax = 65'536;   ///< Hashes in one message: 2 MiB.
/// Returns the hashes of tiles [first, first + count), at least one and at most kLeavesMax, or out_of_range.
Result<Bytes, Failure> cut_leaves(const merkle::TileTree& tree, std::uint64_t first, std::uint64_t count);
/// Writes one tile's elements to their rows in `data`; its padding is dropped.
void scatter_tile(View tile, std::uint32_t element_size, const kernels::Geometry& shape, std::uint64_t index,
                  std::uint8_t* data);

}  // namespace retrace::node
