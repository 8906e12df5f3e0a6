// SPDX-License-Identifier: MIT
// Tiles of byte products for instruction sets of few registers: the products are added one pair of digits after
// another, so that a tile has one sum for each element. S_0 and S_1 (contract-v1 4.3) share it, which is shifted left by
// 8 between them: T = 256·S_0 + S_1 fits 32 bits. S_2 is summed after T was put aside.
//
// Unit has lanes L, Packing<S> (bytes.hpp), kUnsignedB, kRows and kColumns (of the largest tile; columns in registers),
// kRowsTogether (rows whose sums lie in the same registers), kGroupsTogether (groups that add reads at once), add<S, t, u>(tile, sum), which adds the products of digit t
// of A and digit u of B, and in_rows(sum), which puts the sums of each row into registers of its own. Included only by
// files compiled for one instruction set.
#pragma once

#include "kernels/matmul/bytes.hpp"

namespace retrace::kernels {
namespace {

template <class Unit, int S>
struct DigitSums {
    using L = typename Unit::L;
    using I = typename L::I;
    using Packing = typename Unit::template Packing<S>;
    static constexpr int rows_of_sums(int rows) {
        return (rows + Unit::kRowsTogether - 1) / Unit::kRowsTogether * Unit::kRowsTogether;
    }

    /// Computes R rows and P registers of columns.
    template <int R, int P>
    static void tile(const Tile& t) {
        constexpr int kSums = rows_of_sums(R);
        I sum[kSums][P], upper[R][P];
#pragma GCC unroll 16
        for (int r = 0; r < kSums; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) sum[r][p] = start_of<0>(t, r);
        }
        fetch_c(t, R);
        Unit::template add<R, P, S, 0, 0>(t, sum);
        if constexpr (S > 1) {
#pragma GCC unroll 16
            for (int r = 0; r < kSums; ++r) {
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) {
                    sum[r][p] = L::add(L::template shift_left<8>(sum[r][p]), start_of<1>(t, r));
                }
            }
            Unit::template add<R, P, S, 0, 1>(t, sum);
            Unit::template add<R, P, S, 1, 0>(t, sum);
        }
        if constexpr (S > 2) {
            Unit::in_rows(sum);
#pragma GCC unroll 16
            for (int r = 0; r < kSums; ++r) {
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) {
                    if (r < R) upper[r][p] = sum[r][p];
                    sum[r][p] = start_of<2>(t, r);
                }
            }
            Unit::template add<R, P, S, 0, 2>(t, sum);
            Unit::template add<R, P, S, 1, 1>(t, sum);
            Unit::template add<R, P, S, 2, 0>(t, sum);
        }
        Unit::in_rows(sum);
        typename L::F value[R][P];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) {
                if constexpr (S > 2)
                    value[r][p] = L::wide_to_float(upper[r][p], sum[r][p]);
                else
                    value[r][p] = L::to_float(sum[r][p]);
            }
        }
        carry_tile<L, S, R, P>(t, value);
    }

    template <int g>
    static I start_of(const Tile& t, int row) {
        if constexpr (Unit::kUnsignedB) return L::broadcast(t.start[row * static_cast<int>(kSlicesMax) + g]);
        return L::zero_words();
    }

    static constexpr MatmulKernel kernel() {
        MatmulKernel k;
        k.rows = Unit::kRows;
        k.cols = Packing::kCols;
        k.lanes = Packing::kCols / 2;
        k.group = Packing::kGroup;
        k.a_words = k.b_words = S;
        k.groups_together = Unit::kGroupsTogether;
        k.pack_a = Packing::pack_a;
        k.pack_b = Packing::pack_b;
        k.multiply = multiply_panel<DigitSums, Unit::kRows, Unit::kColumns>;
        return k;
    }
};

/// The kernels of a unit by precision; null for f32.
template <class Unit>
const MatmulKernel* kernel_of_digit_sums(Precision precision) {
    static constexpr MatmulKernel i8x1 = DigitSums<Unit, 1>::kernel();
    static constexpr MatmulKernel i8x2 = DigitSums<Unit, 2>::kernel();
    static constexpr MatmulKernel i8x3 = DigitSums<Unit, 3>::kernel();
    return kernel_of(precision, nullptr, &i8x1, &i8x2, &i8x3);
}

}  // namespace
}  // namespace retrace::kernels
