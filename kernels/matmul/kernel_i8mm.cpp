// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__aarch64__)

#include "kernels/matmul/digit_sums.hpp"
#include "kernels/matmul/lanes_neon.hpp"

namespace retrace::kernels {

namespace {

/// smmla adds the product of two rows of eight k and two columns of eight k to a square of 2×2 sums.
struct MatrixProducts {
    using L = LanesNeon;
    static constexpr bool kUnsignedB = false;
    static constexpr int kRows = 4, kColumns = 4, kRowsTogether = 2, kGroupsTogether = 4;

    /// The packing of bytes.hpp, except that B's words of two groups of four k alternate: two columns of eight k fill a
    /// register.
    template <int S>
    struct Packing : Bytes<L, S, false, kColumns * L::width> {
        using Plain = Bytes<L, S, false, kColumns * L::width>;
        static constexpr std::uint32_t kPanelWords = S * Plain::kGroups * Plain::kCols;

        static void pack_b(const PackSource& source, std::uint32_t* out, float* scale) {
            Plain::pack_b(source, out, scale);
            const std::uint32_t panels = (source.vectors + Plain::kCols - 1) / Plain::kCols;
            for (std::uint32_t panel = 0; panel < panels; ++panel, out += kPanelWords) {
                for (std::uint32_t g = 0; g < Plain::groups_of(source.n); g += 2) {
                    alternate(out + g * S * Plain::kCols);
                }
            }
        }

        /// Makes [digit][two columns][column][group] of the [group][digit][column] of two groups.
        static void alternate(std::uint32_t* words) {
            constexpr std::uint32_t kRegisters = S * kColumns;
            L::I first[kRegisters], second[kRegisters];
            for (std::uint32_t i = 0; i < kRegisters; ++i) {
                first[i] = L::load(words + i * L::width);
                second[i] = L::load(words + (kRegisters + i) * L::width);
            }
            for (std::uint32_t i = 0; i < kRegisters; ++i) {
                L::store(words + 2 * i * L::width, vzip1q_s32(first[i], second[i]));
                L::store(words + (2 * i + 1) * L::width, vzip2q_s32(first[i], second[i]));
            }
        }
    };

    /// Rows 2q and 2q + 1 share registers: sum[2q][p] is the square of the first two columns of p, sum[2q + 1][p] that of
    /// the others. A missing last row is computed as a copy of the one before it.
    template <int Rows, int P, int S, int t, int u>
    static void add(const Tile& tile, L::I (&sum)[(Rows + 1) / 2 * 2][P]) {
        using Words = Packing<S>;
        constexpr int kPairs = (Rows + 1) / 2;
        const std::uint32_t* a = tile.a + t * static_cast<int>(Words::kGroups);
        const std::uint32_t* b = tile.b + u * 2 * static_cast<int>(Words::kCols);
        for (std::uint32_t four = (tile.groups + 3) / 4; four != 0; --four, a += 4, b += 4 * S * Words::kCols) {
            L::I first[kPairs], second[kPairs];
#pragma GCC unroll 16
            for (int q = 0; q < kPairs; ++q) {
                const int row = 2 * q, next = row + 1 < Rows ? row + 1 : row;
                const L::I upper = L::load(a + row * static_cast<int>(Words::kRowWords));
                const L::I lower = L::load(a + next * static_cast<int>(Words::kRowWords));
                first[q] = L::low_pairs(upper, lower);
                second[q] = L::high_pairs(upper, lower);
            }
            add_eight<kPairs, P>(sum, first, b);
            add_eight<kPairs, P>(sum, second, b + 2 * S * Words::kCols);
        }
    }

    template <int Pairs, int P>
    [[gnu::always_inline]] static void add_eight(L::I (&sum)[2 * Pairs][P], const L::I (&x)[Pairs],
                                                 const std::uint32_t* b) {
#pragma GCC unroll 16
        for (int c = 0; c < 2 * P; ++c) {
            const int8x16_t y = vreinterpretq_s8_s32(L::load(b + c * L::width));
#pragma GCC unroll 16
            for (int q = 0; q < Pairs; ++q) {
                L::I& square = sum[2 * q + c % 2][c / 2];
                square = vmmlaq_s32(square, vreinterpretq_s8_s32(x[q]), y);
            }
        }
    }

    template <int R, int P>
    [[gnu::always_inline]] static void in_rows(L::I (&sum)[R][P]) {
#pragma GCC unroll 16
        for (int r = 0; r < R; r += 2) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) {
                const L::I left = sum[r][p], right = sum[r + 1][p];
                sum[r][p] = L::low_pairs(left, right);
                sum[r + 1][p] = L::high_pairs(left, right);
            }
        }
    }
};

}  // namespace

const MatmulKernel* matmul_kernel_i8mm(Precision precision) { return kernel_of_digit_sums<MatrixProducts>(precision); }

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_i8mm(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
