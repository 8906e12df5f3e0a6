// SPDX-License-Identifier: MIT
// Also included by CUDA sources, which are C++17.
#pragma once

#include <cstdint>

namespace retrace::kernels {

/// How an operand is broadcast to an output [rows, cols] (kernels/ops/broadcast.hpp).
enum class Spread : std::uint8_t { full = 1, row = 2, column = 3, scalar = 4 };

}  // namespace retrace::kernels
