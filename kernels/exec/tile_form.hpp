// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/program.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::kernels {

/// Whether `bytes` is a valid tile `tile` of a tensor: full length, zeros where the tensor has no elements, bools 0 or
/// 1. Otherwise two encodings of one tensor would have different roots although no element differs.
bool is_tile(View bytes, DType dtype, const Geometry& shape, std::uint64_t tile);

}  // namespace retrace::kernels
