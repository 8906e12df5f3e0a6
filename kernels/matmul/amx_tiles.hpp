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
    static constexpr int kA = 6,
                         kB = 7;  ///< Tiles 0 .. 2·S-1 are the sums: S_g of columns 16p .. at 2·g + p.
    static constexpr std::uint32_t kRows = 16;

    template <int digit_a, int digit_b, int part>
    static void step(const std::uint32_t* b) {
        Tiles::template load<kB>(b + digit_b * Packing::kCols + part * kRows, S * Packing::kCols * 4);
        Tiles::template dot<2 * (digit_a + digit_b) + part, kA, kB>();
    }

    /// Computes all products of one digit of A. A sum is used again after three other steps at the earliest.
    template <int digit_a, int digit_b = 0>
    static void digit(const std::uint32_t* a, const std::uint32_t* b) {
        if constexpr (digit_b == 0) Tiles::template load<kA>(a + digit_a * Packing::kGroups, Packing::kRowWords * 4);
        step<digit_a, digit_b, 0>(b);
        step<digit_a, digit_b, 1>(b);
        if constexpr (digit_a + digit_b + 1 < S) digit<digit_a, digit_b + 1>(a, b);
    }

    template <int from, int to>
    static void clear_tiles() {
        Tiles::template zero<from>();
        if constexpr (from + 1 < to) clear_tiles<from + 1, to>();
    }

    template <int from, int to>
    static void store_tiles(std::int32_t (*sums)[kRows][kRows]) {
        Tiles::template store<from>(sums[from], kRows * 4);
        if constexpr (from + 1 < to) store_tiles<from + 1, to>(sums);
    }

    static L::F total(const L::I* sum) {
        if constexpr (S == 1) return L::to_float(sum[0]);
        const L::I upper = L::add(L::shift_left<8>(sum[0]), sum[S > 1 ? 1 : 0]);
        return S == 2 ? L::to_float(upper) : L::wide_to_float(upper, sum[S - 1]);
    }

    /// Multiplies at most 16 rows, from row `first` of the tile on.
    static void sixteen(const Tile& t, std::uint32_t first) {
        clear_tiles<0, 2 * S>();
        const std::uint32_t* const a = t.a + first * Packing::kRowWords;
        for (std::uint32_t group = 0; group < t.groups; group += kRows) {
            const std::uint32_t* const b = t.b + group * S * Packing::kCols;
            // The last digit comes first, because the other digits also add to its sum.
            if constexpr (S > 2) digit<2>(a + group, b);
            if constexpr (S > 1) digit<1>(a + group, b);
            digit<0>(a + group, b);
        }
        alignas(64) std::int32_t sums[2 * S][kRows][kRows];
        store_tiles<0, 2 * S>(sums);
        const std::uint32_t rows = t.rows - first < kRows ? t.rows - first : kRows;
        for (std::uint32_t r = 0; r < rows; ++r) {
            for (int p = 0; p < (t.narrow ? 1 : 2); ++p) {
                L::I sum[S];
                for (int g = 0; g < S; ++g) sum[g] = _mm512_load_si512(sums[2 * g + p][r]);
                carry<L, S>(t, static_cast<int>(first + r), p, total(sum));
            }
        }
    }

    static void multiply(const Tile& t) {
        for (std::uint32_t first = 0; first < t.rows; first += kRows) sixteen(t, first);
    }

    static constexpr MatmulKernel kernel() {
        MatmulKernel k;
        k.rows = 2 * kRows;
        k.cols = Packing::kCols;
        k.lanes = L::width;
        k.group = Packing::kGroup;
        k.a_words = k.b_words = S;
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
    switch (precision) {
        case Precision::f32: return nullptr;
        case Precision::i8x1: return &i8x1;
        case Precision::i8x2: return &i8x2;
        case Precision::i8x3: return &i8x3;
    }
    return nullptr;
}

}  // namespace
}  // namespace retrace::kernels
