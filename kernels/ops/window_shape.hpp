// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/ops/element.hpp"

namespace retrace::kernels {

/// Windows over images [n, c, h, w] as a matrix [n·oh·ow, c·kh·kw] (contract 4.7).
struct WindowShape {
    std::uint64_t n = 0, c = 0, h = 0, w = 0;
    std::uint64_t kh = 1, kw = 1, sh = 1, sw = 1, ph = 0, pw = 0;
    std::uint64_t oh = 0, ow = 0;
};
inline constexpr std::uint64_t kWindowTerms = 16;  ///< Kernel positions of one link of a window scatter.

/// Attributes and extents must have passed the shape rules.
WindowShape gather_shape(const OpFacts& facts);
WindowShape scatter_shape(const OpFacts& facts);

}  // namespace retrace::kernels
