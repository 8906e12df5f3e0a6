// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {

struct TileIndex {
    std::uint64_t matrix, m, n;
};

/// Maps the number of a block, or of a cluster of blocks that computes one tile, to its tile. Blocks that run together
/// form a compact rectangle of C (bands of `band_rows` rows of tiles, column after column), so that the parts of A and B
/// that they read stay in the second-level cache. With 32 bits for `Index` the divisions take a few instructions.
inline constexpr std::uint64_t kTileBand = 12;
template <class Index>
RETRACE_FN TileIndex tile_of(Index index, Index tiles_m, Index tiles_n, Index band_rows = kTileBand) {
    const Index in_matrix = index % (tiles_m * tiles_n), band = in_matrix / (band_rows * tiles_n);
    const Index left = tiles_m - band * band_rows, rows = left < band_rows ? left : band_rows;
    const Index in_band = in_matrix - band * band_rows * tiles_n;
    return TileIndex{index / (tiles_m * tiles_n), band * band_rows + in_band % rows, in_band / rows};
}

}  // namespace retrace::kernels::cuda
