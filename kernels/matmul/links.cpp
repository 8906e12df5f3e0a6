// SPDX-License-Identifier: MIT
#include "kernels/matmul/links.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "kernels/matmul/backend.hpp"
#include "kernels/matmul/engine.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kSide = 32;  ///< Rows and columns of a tile of a tensor.

std::uint32_t terms(const MatrixView& a, std::uint64_t block) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlockK, a.cols - block * kBlockK));
}

/// Computes the definition; every row and column of a block is gathered once.
void by_reference(Precision precision, const MatrixView& a, const MatrixView& b, std::uint64_t first, std::uint64_t end,
                  float* c, std::uint64_t c_stride) {
    float rows[kSide][kBlockK], column[kBlockK];
    for (std::uint64_t block = first; block < end; ++block) {
        const std::uint32_t n = terms(a, block);
        for (std::uint64_t i = 0; i < a.rows; ++i) {
            for (std::uint32_t k = 0; k < n; ++k) rows[i][k] = a.at(i, block * kBlockK + k);
        }
        for (std::uint64_t j = 0; j < b.cols; ++j) {
            for (std::uint32_t k = 0; k < n; ++k) column[k] = b.at(block * kBlockK + k, j);
            for (std::uint64_t i = 0; i < a.rows; ++i) {
                float& carried = c[i * c_stride + j];
                carried = matmul_link(precision, rows[i], column, n, block == 0 ? matmul_start(precision) : carried);
            }
        }
    }
}

/// Buffers for a kernel's packed operands.
class Packed {
public:
    Packed(const MatmulKernel& kernel, std::uint64_t columns) : panels_((columns + kernel.cols - 1) / kernel.cols) {
        const std::uint64_t room = kPackRows + kTileRowsMax;  // Packing writes a whole number of vectors.
        const std::uint64_t words_a = room * kernel.row_words(), words_b = panels_ * kernel.panel_words();
        const std::uint64_t scales_b = panels_ * kernel.cols;
        memory_.reset(static_cast<std::uint32_t*>(
            ::operator new(4 * (words_a + words_b + scales_b + room * (1 + kSlicesMax)), kAlignment)));
        a = memory_.get();
        b = a + words_a;
        scale_b = reinterpret_cast<float*>(b + words_b);
        scale_a = scale_b + scales_b;
        start = reinterpret_cast<std::int32_t*>(scale_a + room);
    }
    std::uint64_t panels() const { return panels_; }

    std::uint32_t *a = nullptr, *b = nullptr;
    float *scale_a = nullptr, *scale_b = nullptr;
    std::int32_t* start = nullptr;

private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
        void operator()(std::uint32_t* p) const { ::operator delete(p, kAlignment); }
    };
    std::uint64_t panels_;
    std::unique_ptr<std::uint32_t, Free> memory_;
};

void multiply(const MatmulKernel& kernel, const Packed& packed, Tile tile, std::uint64_t rows, std::uint64_t columns,
              float* c) {
    for (std::uint64_t row = 0; row < rows; row += kernel.rows) {
        tile.rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel.rows, rows - row));
        tile.a = packed.a + row * kernel.row_words();
        tile.scale_a = packed.scale_a + row;
        tile.start = packed.start + row * kSlicesMax;
        for (std::uint64_t panel = 0; panel < packed.panels(); ++panel) {
            const std::uint64_t column = panel * kernel.cols;
            tile.b = packed.b + panel * kernel.panel_words();
            tile.scale_b = packed.scale_b + column;
            tile.c = c + row * tile.c_stride + column;
            tile.columns = static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel.cols, columns - column));
            tile.narrow = tile.columns <= kernel.lanes;
            kernel.multiply(tile);
        }
    }
}

void by_kernel(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, std::uint64_t first,
               std::uint64_t end, float* c, std::uint64_t c_stride) {
    const Packed packed(kernel, b.cols);
    if (kernel.enter != nullptr) kernel.enter();
    for (std::uint64_t block = first; block < end; ++block) {
        const std::uint32_t n = terms(a, block);
        const PackSource rows{a.data + block * kBlockK * a.col_stride, a.row_stride, a.col_stride,
                              static_cast<std::uint32_t>(a.rows), n};
        const PackSource columns{b.data + block * kBlockK * b.row_stride, b.col_stride, b.row_stride,
                                 static_cast<std::uint32_t>(b.cols), n};
        kernel.pack_a(rows, packed.a, packed.scale_a, packed.start);
        kernel.pack_b(columns, packed.b, packed.scale_b);
        Tile tile;
        tile.a_stride = kernel.row_words();
        tile.c_stride = c_stride;
        tile.groups = (n + kernel.group - 1) / kernel.group;
        tile.first = block == 0;
        multiply(kernel, packed, tile, a.rows, b.cols, c);
    }
    if (kernel.leave != nullptr) kernel.leave();
    // A NaN stays a NaN through all links, so its bits need to be canonical only in the result.
    for (std::uint64_t i = 0; i < a.rows; ++i) {
        for (std::uint64_t j = 0; j < b.cols; ++j) c[i * c_stride + j] = canonical_nan(c[i * c_stride + j]);
    }
}

}  // namespace

void matmul_links_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, std::uint64_t first,
                     std::uint64_t end, float* c, std::uint64_t c_stride) {
    ensure(a.rows <= kSide && b.cols <= kSide && end <= matmul_blocks(a.cols), "links of one tile");
    if (first == end || a.rows == 0 || b.cols == 0) return;
    const MatmulKernel* kernel = matmul_kernel(level, precision);
    if (kernel == nullptr) return by_reference(precision, a, b, first, end, c, c_stride);
    by_kernel(*kernel, a, b, first, end, c, c_stride);
}

}  // namespace retrace::kernels
