// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels {

/// A matmul op as `batch` products C[m][n] = A[m][k] · B[k][n]; a transposed operand lies in memory as [k][m], [n][k].
struct MatmulShape {
    Precision precision = Precision::f32;
    bool transposed_a = false, transposed_b = false;
    std::uint64_t batch = 1, m = 0, k = 0, n = 0;
};
/// Elements of a factor that each thread may pack for itself, a MiB; a product that has all threads packs up to 32 MiB.
inline constexpr std::uint64_t kOwnFactorMax = 1 << 18;

/// Attributes and ranks have passed the shape rule.
MatmulShape matmul_shape(const OpFacts& facts);

}  // namespace retrace::kernels
