// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace retrace::kernels {

namespace {

float reduce_terms(Reduction kind, const float* x, std::uint64_t n, std::uint64_t stride) {
    return kind == Reduction::sum ? reduce_level_sum(x, n, stride) : reduce_level_max(x, n, stride);
}

}  // namespace

void reduce_rows_level(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out) {
    const std::uint64_t results = reduce_level_size(cols);
    for (std::uint64_t r = 0; r < rows; ++r) {
        for (std::uint64_t b = 0; b < results; ++b) {
            const std::uint64_t begin = b * kReduceTerms;
            const std::uint64_t terms = std::min(kReduceTerms, cols - begin);
            out[r * results + b] = reduce_terms(kind, x + r * cols + begin, terms, 1);
        }
    }
}

void reduce_cols_level(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out) {
    const std::uint64_t results = reduce_level_size(rows);
    for (std::uint64_t b = 0; b < results; ++b) {
        const std::uint64_t begin = b * kReduceTerms;
        const std::uint64_t terms = std::min(kReduceTerms, rows - begin);
        for (std::uint64_t c = 0; c < cols; ++c) {
            out[b * cols + c] = reduce_terms(kind, x + begin * cols + c, terms, cols);
        }
    }
}

void reduce_rows(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out) {
    std::vector<float> level;
    while (cols > kReduceTerms) {
        std::vector<float> next(rows * reduce_level_size(cols));
        reduce_rows_level(kind, x, rows, cols, next.data());
        level = std::move(next);
        x = level.data();
        cols = reduce_level_size(cols);
    }
    reduce_rows_level(kind, x, rows, cols, out);
}

void reduce_cols(Reduction kind, const float* x, std::uint64_t rows, std::uint64_t cols, float* out) {
    std::vector<float> level;
    while (rows > kReduceTerms) {
        std::vector<float> next(cols * reduce_level_size(rows));
        reduce_cols_level(kind, x, rows, cols, next.data());
        level = std::move(next);
        x = level.data();
        rows = reduce_level_size(rows);
    }
    reduce_cols_level(kind, x, rows, cols, out);
}

}  // namespace retrace::kernels
