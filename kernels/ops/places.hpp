// SPDX-License-Identifier: MIT
// Limits and the order of row_top (SPEC 9), for element rules and kernels. Also included by CUDA sources (C++17).
#pragma once

#include <cstdint>

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

inline constexpr std::uint64_t kTopColumnsMax = 512;  ///< Elements of a row of row_top: 16 tiles.
inline constexpr std::uint64_t kAddPlacesMax = 512;   ///< Places a row of row_add_at: 16 tiles.

/// Returns an integer that orders elements by magnitude; every NaN has the same one, above infinity.
RETRACE_FN std::uint32_t magnitude_key(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & ~kSignBit;
    return magnitude > kInfinityBits ? kInfinityBits + 1 : magnitude;
}

}  // namespace retrace::kernels
