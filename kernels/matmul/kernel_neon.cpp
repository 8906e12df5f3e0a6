// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__aarch64__)

#include "kernels/matmul/lanes_neon.hpp"
#include "kernels/matmul/words.hpp"

namespace retrace::kernels {

namespace {

/// fp32 chains. An instruction takes one lane of a register as a factor, so four k of a row are loaded at once; loads
/// that fill all lanes with one value would take the place of additions.
struct NeonChains {
    using L = LanesNeon;
    using Packing = Words<L, 0>;

    /// Computes R rows and P registers of columns.
    template <int R, int P>
    static void tile(const Tile& t) {
        L::F sum[R][P];
        const float* a[R];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            a[r] = reinterpret_cast<const float*>(t.a) + static_cast<std::uint64_t>(r) * t.a_stride;
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) sum[r][p] = L::zero();
        }
        fetch_c(t, R);
        const float* b = reinterpret_cast<const float*>(t.b);
        std::uint32_t left = t.groups;
        for (; left >= 4; left -= 4, b += 4 * Packing::kCols) {
            L::F x[R];
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) x[r] = L::load(a[r]), a[r] += 4;
            add_products<R, P, 0>(sum, x, b);
            add_products<R, P, 1>(sum, x, b);
            add_products<R, P, 2>(sum, x, b);
            add_products<R, P, 3>(sum, x, b);
        }
        for (; left != 0; --left, b += Packing::kCols) {
            L::F x[R];
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) x[r] = L::broadcast(*a[r]), ++a[r];
            add_products<R, P, 0>(sum, x, b);
        }
        carry_tile<L, 0, R, P>(t, sum);
    }

    /// Adds the products of lane `k` of every row.
    template <int R, int P, int k>
    [[gnu::always_inline]] static void add_products(L::F (&sum)[R][P], const L::F (&x)[R], const float* b) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
            const L::F y = L::load(b + k * static_cast<int>(Packing::kCols) + p * L::width);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sum[r][p] = vfmaq_laneq_f32(sum[r][p], y, x[r], k);
        }
    }

    template <int R>
    static constexpr MatmulKernel kernel() {
        MatmulKernel k = Packing::kernel<R, 2>();
        k.multiply = multiply_panel<NeonChains, R, 2>;
        return k;
    }
};

}  // namespace

const MatmulKernel* matmul_kernel_neon(Precision precision) {
    // Sixteen sums hide the latency of four units; the rows, the columns of B and a product are in the other registers.
    static constexpr MatmulKernel f32 = NeonChains::kernel<8>();
    static constexpr MatmulKernel i8x1 = Words<LanesNeon, 1>::kernel<8, 2>();
    static constexpr MatmulKernel i8x2 = Words<LanesNeon, 2>::kernel<8, 2>();
    static constexpr MatmulKernel i8x3 = Words<LanesNeon, 3>::kernel<8, 1>();
    return kernel_of(precision, &f32, &i8x1, &i8x2, &i8x3);
}

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_neon(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
