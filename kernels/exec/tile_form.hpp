// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/program.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::kernels {

/// Whether `bytes` can be tile `tile` of a tensor: full length, zeros where the tensor has no elements, bools 0 or 1.
/// Otherwise two spellings of one tensor would have two roots, and a difference that no element shows.
bool is_tile(View bytes, DType dtype, const Geometry& shape, std::uint64_t tile);

}  // namespace retrace::kernels
