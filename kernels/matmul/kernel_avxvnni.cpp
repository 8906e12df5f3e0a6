// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__x86_64__)

#include "kernels/matmul/digit_sums.hpp"
#include "kernels/matmul/lanes_avx2.hpp"

namespace retrace::kernels {

namespace {

struct LanesAvxVnni : LanesAvx2 {
    /// Returns sum + the four products of unsigned and signed bytes in each lane. In assembly, because GCC 12 spills
    /// registers around its intrinsic; `{vex}` excludes the encoding of AVX-512.
    static I add_dot8(I sum, I unsigned_bytes, I signed_bytes) {
        asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(unsigned_bytes), "x"(signed_bytes));
        return sum;
    }
};

/// vpdpbusd multiplies unsigned by signed bytes: B is packed plus 128, and the sums start at -128 · Σ A.
struct AvxVnni {
    using L = LanesAvxVnni;
    template <int S>
    using Packing = Bytes<L, S, true>;
    static constexpr bool kUnsignedB = true;
    // Twelve sums, two registers of B and a broadcast fill 15 of 16 registers.
    static constexpr int kRows = 6, kColumns = 2, kRowsTogether = 1, kGroupsTogether = 1;

    template <int R, int P, int S, int t, int u>
    static void add(const Tile& tile, L::I (&sum)[R][P]) {
        using Words = Packing<S>;
        const std::uint32_t* a = tile.a + t * static_cast<int>(Words::kGroups);
        const std::uint32_t* b = tile.b + u * static_cast<int>(Words::kCols);
        for (std::uint32_t group = tile.groups; group != 0; --group, ++a, b += S * Words::kCols) {
            L::I y[P];
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) y[p] = L::load(b + p * L::width);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const std::uint32_t word = a[r * static_cast<int>(Words::kRowWords)];
                const L::I x = L::broadcast(static_cast<std::int32_t>(word));
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) sum[r][p] = L::add_dot8(sum[r][p], y[p], x);
            }
        }
    }

    template <int R, int P>
    static void in_rows(L::I (&)[R][P]) {}
};

}  // namespace

const MatmulKernel* matmul_kernel_avxvnni(Precision precision) { return kernel_of_digit_sums<AvxVnni>(precision); }

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_avxvnni(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
