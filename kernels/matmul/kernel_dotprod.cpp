// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__aarch64__)

#include "kernels/matmul/digit_sums.hpp"
#include "kernels/matmul/lanes_neon.hpp"

namespace retrace::kernels {

namespace {

/// sdot adds four products of signed bytes to each lane. One factor is a lane of a register, which holds four k of a row;
/// four of them are loaded at once.
struct DotProducts {
    using L = LanesNeon;
    template <int S>
    using Packing = Bytes<L, S, false>;
    static constexpr bool kUnsignedB = false;
    static constexpr int kRows = 8, kColumns = 2, kRowsTogether = 1, kGroupsTogether = 4;

    template <int R, int P, int S, int t, int u>
    static void add(const Tile& tile, L::I (&sum)[R][P]) {
        using Words = Packing<S>;
        const std::uint32_t* a = tile.a + t * static_cast<int>(Words::kGroups);
        const std::uint32_t* b = tile.b + u * static_cast<int>(Words::kCols);
        for (std::uint32_t four = (tile.groups + 3) / 4; four != 0; --four, a += 4, b += 4 * S * Words::kCols) {
            int8x16_t x[R];
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                x[r] = vreinterpretq_s8_s32(L::load(a + r * static_cast<int>(Words::kRowWords)));
            }
            add_group<R, P, 0>(sum, x, b);
            add_group<R, P, 1>(sum, x, b + S * Words::kCols);
            add_group<R, P, 2>(sum, x, b + 2 * S * Words::kCols);
            add_group<R, P, 3>(sum, x, b + 3 * S * Words::kCols);
        }
    }

    template <int R, int P, int lane>
    [[gnu::always_inline]] static void add_group(L::I (&sum)[R][P], const int8x16_t (&x)[R], const std::uint32_t* b) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
            const int8x16_t y = vreinterpretq_s8_s32(L::load(b + p * L::width));
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sum[r][p] = vdotq_laneq_s32(sum[r][p], y, x[r], lane);
        }
    }

    template <int R, int P>
    static void in_rows(L::I (&)[R][P]) {}
};

}  // namespace

const MatmulKernel* matmul_kernel_dotprod(Precision precision) { return kernel_of_digit_sums<DotProducts>(precision); }

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_dotprod(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
