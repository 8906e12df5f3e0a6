// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels {

/// A matmul op as `batch` products C[m][n] = A[m][k] · B[k][n]; transposed operands are stored as [k][m] and [n][k].
struct MatmulShape {
    Precision precision = Precision::f32;
    bool transposed_a = false, transposed_b = false;
    std::uint64_t batch = 1, m = 0, k = 0, n = 0;
};
/// Maximum elements of a factor that each thread may pack for itself (1 MiB); a product that uses all threads packs up
/// to 32 MiB.
inline constexpr std::uint64_t kOwnFactorMax = 1 << 18;

/// Attributes and ranks must have passed the shape rule.
MatmulShape matmul_shape(const OpFacts& facts);

}  // namespace retrace::kernels
