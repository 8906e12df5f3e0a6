// SPDX-License-Identifier: MIT
// The definition of the matrix product (contract-v1.txt 4), line by line. Every other file in this folder is an
// optimisation of it and is compared with it bit by bit.
#include <algorithm>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/slices.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

namespace {

float f32_link(const float* a, const float* b, std::uint32_t n, float before) {
    float chain = 0.0f;
    for (std::uint32_t k = 0; k < n; ++k) chain = fma32(a[k], b[k], chain);
    return before + chain;
}

float sliced_link(std::uint32_t slices, const float* a, const float* b, std::uint32_t n, float before) {
    const std::uint32_t largest_a = slice_max(a, n, 1), largest_b = slice_max(b, n, 1);
    const std::int32_t exponent_a = slice_exponent(largest_a), exponent_b = slice_exponent(largest_b);
    const float scale_a = slice_scale(slices, largest_a), scale_b = slice_scale(slices, largest_b);
    std::int64_t sum[kSlicesMax] = {};  // S_g, exact
    for (std::uint32_t k = 0; k < n; ++k) {
        const Digits da = is_nan(scale_a) ? Digits{} : slice_digits(slices, a[k], exponent_a);
        const Digits db = is_nan(scale_b) ? Digits{} : slice_digits(slices, b[k], exponent_b);
        for (std::uint32_t g = 0; g < slices; ++g) {
            for (std::uint32_t t = 0; t <= g; ++t) sum[g] += std::int64_t{da.digit[t]} * db.digit[g - t];
        }
    }
    std::int64_t total = 0;
    for (std::uint32_t g = 0; g < slices; ++g) total = total * 256 + sum[g];
    const float u = static_cast<float>(total);
    const float v = u * scale_a;
    return fma32(v, scale_b, before);
}

}  // namespace

float matmul_start(Precision precision) noexcept { return precision == Precision::f32 ? -0.0f : 0.0f; }

float matmul_finish(float carried) noexcept { return finish(carried); }

float matmul_link(Precision precision, const float* a_row, const float* b_col, std::uint32_t n, float before) {
    return canonical_nan(precision == Precision::f32 ? f32_link(a_row, b_col, n, before)
                                                     : sliced_link(slices_of(precision), a_row, b_col, n, before));
}

void matmul_reference(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride) {
    const std::uint64_t k = a.cols;
    std::vector<float> column(k);
    for (std::uint64_t j = 0; j < b.cols; ++j) {
        for (std::uint64_t p = 0; p < k; ++p) column[p] = b.at(p, j);
        for (std::uint64_t i = 0; i < a.rows; ++i) {
            // K = 0 has no block: C = +0 in every precision.
            float carried = k == 0 ? 0.0f : matmul_start(precision);
            for (std::uint64_t begin = 0; begin < k; begin += kBlockK) {
                const std::uint32_t n = static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlockK, k - begin));
                float row[kBlockK];
                for (std::uint32_t p = 0; p < n; ++p) row[p] = a.at(i, begin + p);
                carried = matmul_link(precision, row, column.data() + begin, n, carried);
            }
            c[i * c_stride + j] = matmul_finish(carried);
        }
    }
}

}  // namespace retrace::kernels
