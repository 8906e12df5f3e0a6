// SPDX-License-Identifier: MIT
// Reductions (contract 5): levels of 256 terms, 16 lanes, strides 8, 4, 2, 1; every level ends with the epilogue.
#pragma once

#include <cstdint>

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

inline constexpr std::uint64_t kReduceTerms = 256;  ///< Terms of one result of a level.
inline constexpr std::uint32_t kReduceLanes = 16;

/// Number of results of one level over `n` terms: at least one, also for n = 0.
RETRACE_FN std::uint64_t reduce_level_size(std::uint64_t n) { return n <= kReduceTerms ? 1 : (n + 255) / 256; }

/// Number of levels until one value is left: at least one.
RETRACE_FN std::uint32_t reduce_levels(std::uint64_t n) {
    std::uint32_t levels = 1;
    while (n > kReduceTerms) {
        n = reduce_level_size(n);
        ++levels;
    }
    return levels;
}

/// One primitive: the sum of x[0], x[stride], … for `n` <= 256 terms (missing terms are +0), epilogue included.
RETRACE_FN float reduce_level_sum(const float* x, std::uint64_t n, std::uint64_t stride) {
    float lane[kReduceLanes];
    for (std::uint32_t l = 0; l < kReduceLanes; ++l) {
        lane[l] = 0.0f;
        for (std::uint64_t k = l; k < kReduceTerms; k += kReduceLanes) lane[l] += k < n ? x[k * stride] : 0.0f;
    }
    for (std::uint32_t h = kReduceLanes / 2; h >= 1; h /= 2) {
        for (std::uint32_t l = 0; l < h; ++l) lane[l] += lane[l + h];
    }
    return finish(lane[0]);
}

/// One primitive: the maximum of `n` <= 256 terms, identity -Inf; NaN wins, +0 > -0; epilogue included.
RETRACE_FN float reduce_level_max(const float* x, std::uint64_t n, std::uint64_t stride) {
    float best = from_bits(kInfinityBits | kSignBit);
    for (std::uint64_t k = 0; k < n; ++k) best = max32(best, x[k * stride]);  // max32 does not depend on the order
    return finish(best);
}

enum class Reduction : std::uint8_t { sum = 1, max = 2 };

/// One level along the rows of x[rows][cols]: out[rows][reduce_level_size(cols)], both row-major.
void reduce_rows_level(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out);
/// One level along the columns of x[rows][cols]: out[reduce_level_size(rows)][cols], both row-major.
void reduce_cols_level(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out);

/// All levels: out[rows]. A mean divides each result once by fp32(cols) and finishes it again.
void reduce_rows(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out);
/// All levels: out[cols].
void reduce_cols(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out);

}  // namespace retrace::kernels
