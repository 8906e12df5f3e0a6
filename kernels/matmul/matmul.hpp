// SPDX-License-Identifier: MIT
// The matrix product of the contract (contract-v1.txt 4): i8x1 to i8x3 (exact digit slices) and f32 (chains of 256).
#pragma once

#include <cstdint>

namespace retrace::kernels {

class ThreadPool;

enum class Precision : std::uint8_t { f32 = 1, i8x1 = 2, i8x2 = 3, i8x3 = 4 };

/// A source that computes rows on demand: `count` dense rows from row `first` on.
struct RowSource {
    void (*fetch)(const void* context, std::uint64_t first, std::uint64_t count, float* out) = nullptr;
    const void* context = nullptr;
};

/// A matrix in memory: element (r, c) is at data[r * row_stride + c * col_stride]. Swapping the strides transposes it.
struct MatrixView {
    const float* data = nullptr;
    std::uint64_t rows = 0, cols = 0;
    std::uint64_t row_stride = 0, col_stride = 1;
    const RowSource* source = nullptr;  ///< The source of its rows if it is not in memory; `data` is then null.
    float at(std::uint64_t r, std::uint64_t c) const noexcept { return data[r * row_stride + c * col_stride]; }
};

/// Number of blocks of 256 along K, which is also the number of links of one output element. 0 for K = 0.
inline std::uint64_t matmul_blocks(std::uint64_t k) noexcept { return (k + 255) / 256; }

/// The carried value before block 0: +0 for i8x1 to i8x3; -0 for f32, because then c = a_0, as -0 + a_0 is a_0 for
/// either zero.
float matmul_start(Precision precision) noexcept;
/// The definition of one link of one element: returns the carried value after a block, given the carried value `before`
/// it (matmul_start before block 0). `a_row` is A[i][256b..], `b_col` is B[256b..][j], each with `n` = min(256, K -
/// 256b) values. The result is unflushed, NaN canonical. For i8x1 to i8x3 the scale and the digits are derived from
/// exactly these values.
float matmul_link(Precision precision, const float* a_row, const float* b_col, std::uint32_t n, float before);
/// Returns the op's result from the last carried value by the epilogue (NaN canonical, subnormals to zero of the same
/// sign).
float matmul_finish(float carried) noexcept;

/// Reference: C[M][N] = A[M][K] · B[K][N] by plain loops over matmul_link; C is row-major with row stride `c_stride`.
void matmul_reference(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride);
/// The same by the fastest back end of this machine (RETRACE_CPU overrides it), with the same bits.
void matmul(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride,
            ThreadPool& pool);

}  // namespace retrace::kernels
