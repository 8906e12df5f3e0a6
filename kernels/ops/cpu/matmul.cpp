// SPDX-License-Identifier: MIT
#include "kernels/matmul/matmul.hpp"

#include <algorithm>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/matmul_shape.hpp"

namespace retrace::kernels {
namespace {

/// Multiply-adds below which a product does not occupy several threads.
constexpr std::uint64_t kSmallProduct = 1 << 24;

/// Multiply-adds that are worth fetching a piece of work for; a product counts for at least a sixteenth of them.
constexpr std::uint64_t kGrainWork = 1 << 14;

/// Windows of an image that serve as the rows of a factor.
struct Windows {
    const OpFacts* gather = nullptr;
    const float* image = nullptr;
    RowSource rows{[](const void* context, std::uint64_t first, std::uint64_t count, float* out) {
                       const auto* self = static_cast<const Windows*>(context);
                       gather_windows(*self->gather, self->image, first, count, out);
                   },
                   this};

    void stand_in(MatrixView& view) const {
        if (gather != nullptr) view.data = nullptr, view.source = &rows;
    }
};

/// Maximum multiply-adds for which the definition is faster than packing for the fast kernels.
constexpr std::uint64_t kTinyProduct = 8;

void multiply(const OpCall& call, const MatmulShape& s, std::uint64_t i, ThreadPool& pool) {
    MatrixView a{call.in<float>(0) + i * s.m * s.k, s.m, s.k, s.k, 1};
    MatrixView b{call.in<float>(1) + i * s.k * s.n, s.k, s.n, s.n, 1};
    if (s.transposed_a) a.row_stride = 1, a.col_stride = s.m;
    if (s.transposed_b) b.row_stride = 1, b.col_stride = s.k;
    const Windows windows_a{call.gather_of(0), call.in<float>(0)}, windows_b{call.gather_of(1), call.in<float>(1)};
    windows_a.stand_in(a);
    windows_b.stand_in(b);
    float* const c = call.out<float>() + i * s.m * s.n;
    if (s.m * s.n * s.k <= kTinyProduct && a.source == nullptr && b.source == nullptr)
        return matmul_reference(s.precision, a, b, c, s.n);
    matmul(s.precision, a, b, c, s.n, pool);
}

}  // namespace

void run_matmul(const OpCall& call) {
    const MatmulShape s = matmul_shape(call.facts);
    // For small products, such as those of attention heads, each thread computes whole products.
    if (s.batch >= 2 * std::uint64_t{call.pool.threads()} && s.m * s.n * s.k < kSmallProduct &&
        std::max(s.m, s.n) * s.k <= kOwnFactorMax) {
        const std::uint64_t grain = 1 + kGrainWork / (s.m * s.n * s.k + kGrainWork / 16);
        call.pool.parallel_for(s.batch, grain, [&](std::uint64_t begin, std::uint64_t end) {
            ThreadPool alone(1);
            for (std::uint64_t i = begin; i < end; ++i) multiply(call, s, i, alone);
        });
        return;
    }
    for (std::uint64_t i = 0; i < s.batch; ++i) multiply(call, s, i, call.pool);
}

}  // namespace retrace::kernels
