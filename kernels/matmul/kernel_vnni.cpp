// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__x86_64__)

#include "kernels/matmul/bytes.hpp"
#include "kernels/matmul/lanes_avx512.hpp"

namespace retrace::kernels {

namespace {

/// vpdpbusd multiplies unsigned by signed bytes: B is packed plus 128, and the sums start at -128 · Σ A.
template <int S>
struct Vnni {
    using L = LanesAvx512;
    using Packing = Bytes<L, S, true>;

    /// Computes R rows and P registers of columns; sum[r][p][g] is S_g of contract-v1 4.3.
    template <int R, int P>
    static void tile(const Tile& t) {
        L::I sum[R][P][S];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) {
#pragma GCC unroll 16
                for (int g = 0; g < S; ++g) sum[r][p][g] = L::broadcast(t.start[r * static_cast<int>(kSlicesMax) + g]);
            }
        }
        fetch_c(t, R);
        const std::uint32_t* a = t.a;
        const std::uint32_t* b = t.b;
        for (std::uint32_t group = t.groups; group != 0; --group, ++a, b += S * Packing::kCols) {
            L::I y[S][P];
#pragma GCC unroll 16
            for (int u = 0; u < S; ++u) {
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) y[u][p] = L::load(b + u * static_cast<int>(Packing::kCols) + p * L::width);
            }
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
                for (int d = 0; d < S; ++d) {
                    const int at = r * static_cast<int>(Packing::kRowWords) + d * static_cast<int>(Packing::kGroups);
                    const L::I x = L::broadcast(static_cast<std::int32_t>(a[at]));
#pragma GCC unroll 16
                    for (int u = 0; u + d < S; ++u) {
#pragma GCC unroll 16
                        for (int p = 0; p < P; ++p) sum[r][p][u + d] = L::add_dot8(sum[r][p][u + d], y[u][p], x);
                    }
                }
            }
        }
        L::F value[R][P];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) value[r][p] = total(sum[r][p]);
        }
        carry_tile<L, S, R, P>(t, value);
    }

    /// Returns u = fp32(T) of contract-v1 4.4: T rounded once.
    static L::F total(const L::I* sum) {
        if constexpr (S == 1) return L::to_float(sum[0]);
        const L::I upper = L::add(L::shift_left<8>(sum[0]), sum[S > 1 ? 1 : 0]);
        return S == 2 ? L::to_float(upper) : L::wide_to_float(upper, sum[S - 1]);
    }

    template <int R>
    static constexpr MatmulKernel kernel() {
        MatmulKernel k;
        k.rows = R;
        k.cols = Packing::kCols;
        k.lanes = L::width;
        k.group = Packing::kGroup;
        k.a_words = k.b_words = S;
        k.groups_together = 1;
        k.pack_a = Packing::pack_a;
        k.pack_b = Packing::pack_b;
        k.multiply = multiply_panel<Vnni, R, 2>;
        return k;
    }
};

}  // namespace

const MatmulKernel* matmul_kernel_vnni(Precision precision) {
    // 2·S·rows sums, 2·S registers of B and a broadcast fill the register file.
    static constexpr MatmulKernel i8x1 = Vnni<1>::kernel<12>();
    static constexpr MatmulKernel i8x2 = Vnni<2>::kernel<6>();
    static constexpr MatmulKernel i8x3 = Vnni<3>::kernel<4>();
    return kernel_of(precision, nullptr, &i8x1, &i8x2, &i8x3);
}

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_vnni(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
