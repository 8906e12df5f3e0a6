// SPDX-License-Identifier: MIT
#include "kernels/exec/tile_form.hpp"

namespace retrace::kernels {

bool is_tile(View bytes, DType dtype, const Geometry& shape, std::uint64_t tile) {
    constexpr std::size_t kPlaces = 1024, kSide = 32;
    const std::size_t size = size_of(dtype);
    if (bytes.size() != size * kPlaces || tile >= shape.tiles()) return false;
    const std::uint64_t first_row = tile / shape.tile_cols() * kSide, first_col = tile % shape.tile_cols() * kSide;
    for (std::size_t place = 0; place < kPlaces; ++place) {
        const bool element = first_row + place / kSide < shape.rows && first_col + place % kSide < shape.cols;
        for (std::size_t i = place * size; i < (place + 1) * size; ++i)
            if (bytes[i] > (dtype == DType::boolean ? 1 : 255) || (bytes[i] != 0 && !element)) return false;
    }
    return true;
}

}  // namespace retrace::kernels
