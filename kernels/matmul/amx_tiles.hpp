// SPDX-License-Identifier: MIT
// The AMX kernel, parameterised by a type of tiles: the unit itself (amx_unit.hpp) or, in a unit test, a loop that does
// the same, so that the kernel is checked on machines without the unit. Included only by files compiled for AVX-512.
//
// Tiles are 16 rows of 64 bytes: A has 16 rows of 64 k, B has 16 groups of four k by 16 columns, a sum is 16×16 int32.
#pragma once

#include "kernels/matmul/bytes.hpp"
#include "kernels/matmul/lanes_avx512.hpp"

namespace retrace::kernels {
namespace {

/// `Tiles` has enter(), leave() and, by tile number, zero<t>(), load<t>(from, stride), store<t>(to, stride)
/// with strides in bytes, and dot<sum, a, b>(), which multiplies signed bytes.
template <class Tiles, int S>
struct AmxKernel {
    using L = LanesAvx512;
    using Packing = Bytes<L, S, false>;
    static constexpr std::uint32_t kRows = 16;  ///< Rows, and columns, of one sum.
    /// Tile 2·h + p has the sums of rows 16·h .. and columns 16·p ..; tiles kA + h and kB + p have their factors.
    static constexpr int kA = 4, kB = 6;
    using Sums = std::int32_t[4][kRows][kRows];

    template <int h, int p>
    static void dot() {
        Tiles::template dot<2 * h + p, kA + h, kB + p>();
    }

    /// Adds the products of digit `digit_a` of A and `digit_b` of B of 64 k. With more than 16 rows three other products lie
    /// between two of one sum, because Intel's manual gives a product 52 cycles and starts one in 16; with fewer, one does.
    template <int halves, int digit_a, int digit_b>
    static void add(const std::uint32_t* a, const std::uint32_t* b) {
        a += digit_a * Packing::kGroups;
        b += digit_b * Packing::kCols;
        Tiles::template load<kA>(a, Packing::kRowWords * 4);
        Tiles::template load<kB>(b, S * Packing::kCols * 4);
        Tiles::template load<kB + 1>(b + kRows, S * Packing::kCols * 4);
        dot<0, 0>();
        dot<0, 1>();
        if constexpr (halves == 2) {
            Tiles::template load<kA + 1>(a + kRows * Packing::kRowWords, Packing::kRowWords * 4);
            dot<1, 0>();
            dot<1, 1>();
        }
    }

    /// Adds the products of all digits t and g - t, from t = `digit_a` on.
    template <int halves, int g, int digit_a = 0>
    static void add_digits(const std::uint32_t* a, const std::uint32_t* b) {
        add<halves, digit_a, g - digit_a>(a, b);
        if constexpr (digit_a < g) add_digits<halves, g, digit_a + 1>(a, b);
    }

    template <int count, int t = 0>
    static void clear_tiles() {
        Tiles::template zero<t>();
        if constexpr (t + 1 < count) clear_tiles<count, t + 1>();
    }

    template <int count, int t = 0>
    static void store_tiles(Sums& sums) {
        Tiles::template store<t>(sums[t], kRows * 4);
        if constexpr (t + 1 < count) store_tiles<count, t + 1>(sums);
    }

    /// Computes S_g and those after it of a whole block.
    template <int halves, int g = 0>
    static void all_sums(const Tile& t, Sums* sums) {
        clear_tiles<2 * halves>();
        for (std::uint32_t group = 0; group < t.groups; group += kRows) {
            add_digits<halves, g>(t.a + group, t.b + group * S * Packing::kCols);
        }
        store_tiles<2 * halves>(sums[g]);
        if constexpr (g + 1 < S) all_sums<halves, g + 1>(t, sums);
    }

    static L::F total(const L::I* sum) {
        if constexpr (S == 1) return L::to_float(sum[0]);
        const L::I upper = L::add(L::shift_left<8>(sum[0]), sum[S > 1 ? 1 : 0]);
        return S == 2 ? L::to_float(upper) : L::wide_to_float(upper, sum[S - 1]);
    }

    static void multiply(const Tile& t) {
        alignas(64) Sums sums[S];
        if (t.rows > kRows)
            all_sums<2>(t, sums);
        else
            all_sums<1>(t, sums);
        for (std::uint32_t r = 0; r < t.rows; ++r) {
            for (std::uint32_t p = 0; p < (t.narrow ? 1 : 2); ++p) {
                L::I sum[S];
                for (int g = 0; g < S; ++g) sum[g] = _mm512_load_si512(sums[g][2 * (r / kRows) + p][r % kRows]);
                carry<L, S>(t, static_cast<int>(r), static_cast<int>(p), total(sum));
            }
        }
    }

    static constexpr MatmulKernel kernel() {
        MatmulKernel k;
        k.rows = 2 * kRows;
        k.cols = Packing::kCols;
        k.lanes = L::width;
        k.group = Packing::kGroup;
        k.a_words = k.b_words = S;
        k.groups_together = kRows;
        k.pack_a = Packing::pack_a;
        k.pack_b = Packing::pack_b;
        k.multiply = multiply;
        k.enter = Tiles::enter;
        k.leave = Tiles::leave;
        return k;
    }
};

template <class Tiles>
const MatmulKernel* amx_kernel(Precision precision) {
    static constexpr MatmulKernel i8x1 = AmxKernel<Tiles, 1>::kernel();
    static constexpr MatmulKernel i8x2 = AmxKernel<Tiles, 2>::kernel();
    static constexpr MatmulKernel i8x3 = AmxKernel<Tiles, 3>::kernel();
    return kernel_of(precision, nullptr, &i8x1, &i8x2, &i8x3);
}

}  // namespace
}  // namespace retrace::kernels
