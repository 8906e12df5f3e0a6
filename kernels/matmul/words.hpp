// SPDX-License-Identifier: MIT
// Kernels whose packed word belongs to one k: fp32 chains (S = 0) and digit slices by vpmaddwd (S = 1, 2, 3),
// which adds two products of int16 exactly. With d and e the digits of A and B and Q = 256·e0 + e1:
//   S=1: (d0, 0)·(e0, 0)
//   S=2: (d0, d1)·(Q, e0)                           = 256·d0e0 + d0e1 + d1e0
//   S=3: (d0, d1)·(Q, e0), (d0, d1)·(e2, e1) + (0, d2)·(Q, e0);   T = 256·first + second
// Included only by files compiled for one instruction set.
#pragma once

#include "kernels/matmul/slicing.hpp"

namespace retrace::kernels {
namespace {

template <class L, int S>
struct Words {
    using F = typename L::F;
    using I = typename L::I;
    static constexpr std::uint32_t kWords = S == 3 ? 2 : 1;
    static constexpr std::uint32_t kRowWords = kWords * kBlockK;
    static constexpr std::uint32_t kCols = 2 * L::width;

    // Returns the signed low byte, in the high half of each lane.
    static I low_digit(I q) { return L::template shift_right<8>(L::template shift_left<24>(q)); }
    // Returns the digits above the low one.
    static I drop_digit(I q) { return L::template shift_right<8>(L::add(q, L::broadcast(128))); }

    static void words_a(I q, I out[2]) {
        if constexpr (S <= 1) out[0] = S == 0 ? q : L::halves(q, L::zero_words());
        if constexpr (S == 2) out[0] = L::halves(drop_digit(q), low_digit(q));
        if constexpr (S == 3) {
            const I upper = drop_digit(q);
            out[0] = L::halves(drop_digit(upper), low_digit(upper));
            out[1] = L::halves(L::zero_words(), low_digit(q));
        }
    }

    static void words_b(I q, I out[2]) {
        if constexpr (S <= 1) out[0] = S == 0 ? q : L::halves(q, L::zero_words());
        if constexpr (S == 2) out[0] = L::halves(q, L::template shift_left<16>(drop_digit(q)));
        if constexpr (S == 3) {
            const I upper = drop_digit(q);
            out[0] = L::halves(upper, L::template shift_left<16>(drop_digit(upper)));
            out[1] = L::halves(L::template shift_right<16>(low_digit(q)), low_digit(upper));
        }
    }

    /// Packs one vector along K into its row, with words of the same kind adjacent.
    template <void (*words)(I, I*)>
    static void along(const float* x, std::uint32_t n, std::uint32_t* out, float* scale) {
        const std::uint32_t count = (n + L::width - 1) / L::width * L::width;
        F factor = L::zero();
        if constexpr (S != 0) factor = factor_along<L, S>(x, count, scale);
        for (std::uint32_t k = 0; k < count; k += L::width) {
            I w[2];
            const F value = L::load(x + k);
            words(S == 0 ? L::bits(value) : L::to_int(L::mul(value, factor)), w);
            for (std::uint32_t i = 0; i < kWords; ++i) L::store(out + i * kBlockK + k, w[i]);
        }
    }

    /// Packs `lanes` adjacent vectors (a multiple of the width) into consecutive panels of `cols` columns.
    template <void (*words)(I, I*)>
    static void across(const float* x, std::uint64_t k_stride, std::uint32_t n, std::uint32_t lanes, std::uint32_t* out,
                       std::uint32_t cols, float* scale) {
        Factors<L, S> factors;
        if constexpr (S != 0) factors.prepare(x, k_stride, n, lanes, scale);
        for (std::uint32_t k = 0; k < n; ++k) {
            for (std::uint32_t v = 0; v < lanes; v += L::width) {
                const float* const from = x + k * k_stride + v;
                if constexpr (S == 0) __builtin_prefetch(from + kAheadRows * k_stride);
                I w[2];
                if constexpr (S == 0)
                    words(L::bits(L::load(from)), w);
                else
                    words(factors.quantise(from, v), w);
                std::uint32_t* const to = out + v / cols * (kRowWords * cols) + k * kWords * cols + v % cols;
                for (std::uint32_t i = 0; i < kWords; ++i) L::store(to + i * cols, w[i]);
            }
        }
    }

    /// The same for any number of vectors; lanes up to the next multiple of `cols` are written.
    template <void (*words)(I, I*)>
    static void across_all(const PackSource& source, std::uint32_t* out, std::uint32_t cols, float* scale) {
        const std::uint32_t whole = source.vectors / L::width * L::width;
        if (whole != 0) across<words>(source.data, source.k_stride, source.n, whole, out, cols, scale);
        alignas(64) float copy[kBlockK * L::width];
        for (std::uint32_t v = whole; v < (source.vectors + cols - 1) / cols * cols; v += L::width) {
            copy_across<L>(source, v, copy);
            across<words>(copy, L::width, source.n, L::width, out + v / cols * (kRowWords * cols) + v % cols, cols,
                          scale + v);
        }
    }

    static void pack_a(const PackSource& source, std::uint32_t* out, float* scale, std::int32_t*) {
        if (source.vector_stride != 1 || source.k_stride == 1) {
            alignas(64) float copy[kBlockK];
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                along<words_a>(vector_of(source, v, L::width, copy), source.n, out + v * kRowWords, scale + v);
            }
            return;
        }
        alignas(64) std::uint32_t turned[kRowWords * kPackRows];
        across_all<words_a>(source, turned, L::width, scale);
        for (std::uint32_t v = 0; v < source.vectors; v += L::width) {
            for (std::uint32_t i = 0; i < kWords; ++i) {
                for (std::uint32_t k = 0; k < source.n; k += L::width) {
                    L::transpose(turned + v * kRowWords + (k * kWords + i) * L::width, kWords * L::width,
                                 out + v * kRowWords + i * kBlockK + k, kRowWords);
                }
            }
        }
    }

    static void pack_b(const PackSource& source, std::uint32_t* out, float* scale) {
        if (source.vector_stride == 1) return across_all<words_b>(source, out, kCols, scale);
        for (std::uint32_t v = 0; v < (source.vectors + kCols - 1) / kCols * kCols; v += L::width) {
            turn_columns(source, v, out + v / kCols * (kRowWords * kCols) + v % kCols, scale + v);
        }
    }

    /// Packs a register of columns whose values are adjacent along K.
    static void turn_columns(const PackSource& source, std::uint32_t first, std::uint32_t* out, float* scale) {
        alignas(64) float copy[kBlockK];
        alignas(64) std::uint32_t rows[kRowWords * L::width];
        for (std::uint32_t v = 0; v < L::width; ++v) {
            std::uint32_t* const row = rows + v * kRowWords;
            scale[v] = 0.0f;
            if (first + v < source.vectors) {
                along<words_b>(vector_of(source, first + v, L::width, copy), source.n, row, scale + v);
            } else {
                for (std::uint32_t i = 0; i < kRowWords; ++i) row[i] = 0;
            }
        }
        for (std::uint32_t i = 0; i < kWords; ++i) {
            for (std::uint32_t k = 0; k < source.n; k += L::width) {
                L::transpose(rows + i * kBlockK + k, kRowWords, out + (k * kWords + i) * kCols, kWords * kCols);
            }
        }
    }

    /// Computes R rows and P registers of columns of fp32 chains.
    template <int R, int P>
    static void chains(const Tile& t) {
        F sum[R][P];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) sum[r][p] = L::zero();
        }
        fetch_c(t, R);
        // Rows are grouped in threes, so that every address is a pointer plus zero, one or two strides.
        const std::uint32_t* a[(R + 2) / 3];
#pragma GCC unroll 16
        for (int r = 0; r < R; r += 3) a[r / 3] = t.a + static_cast<std::uint64_t>(r) * t.a_stride;
        const std::uint32_t* b = t.b;
        const std::uint64_t stride = t.a_stride;
        for (std::uint32_t g = t.groups; g != 0; --g, b += kCols) {
            F y[P];
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) y[p] = L::floats(L::load(b + p * L::width));
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const std::uint32_t word = a[r / 3][static_cast<std::uint64_t>(r % 3) * stride];
                const F x = L::floats(L::broadcast(static_cast<std::int32_t>(word)));
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) sum[r][p] = L::fma(x, y[p], sum[r][p]);
            }
#pragma GCC unroll 16
            for (int r = 0; r < R; r += 3) ++a[r / 3];
        }
        carry_tile<L, S, R, P>(t, sum);
    }

    /// Computes R rows and P registers of columns of exact sums; only S = 3 uses `low`.
    template <int R, int P>
    static void sums(const Tile& t) {
        constexpr int kLow = S == 3 ? P : 1;
        I sum[R][P], low[R][kLow];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) sum[r][p] = L::zero_words();
#pragma GCC unroll 16
            for (int p = 0; p < kLow; ++p) low[r][p] = L::zero_words();
        }
        fetch_c(t, R);
        const std::uint32_t* a = t.a;
        const std::uint32_t* b = t.b;
        for (std::uint32_t g = t.groups; g != 0; --g, ++a, b += kWords * kCols) {
            I y[P], z[kLow];
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) y[p] = L::load(b + p * L::width);
            if constexpr (S == 3) {
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) z[p] = L::load(b + kCols + p * L::width);
            }
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const std::uint32_t* const row = a + static_cast<std::uint32_t>(r) * kRowWords;
                const I x = L::broadcast(static_cast<std::int32_t>(row[0]));
#pragma GCC unroll 16
                for (int p = 0; p < P; ++p) sum[r][p] = L::add_dot16(sum[r][p], x, y[p]);
                if constexpr (S == 3) {
                    const I x2 = L::broadcast(static_cast<std::int32_t>(row[kBlockK]));
#pragma GCC unroll 16
                    for (int p = 0; p < P; ++p) {
                        low[r][p] = L::add_dot16(L::add_dot16(low[r][p], x, z[p]), x2, y[p]);
                    }
                }
            }
        }
        F total[R][P];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) {
                total[r][p] = S == 3 ? L::wide_to_float(sum[r][p], low[r][p % kLow]) : L::to_float(sum[r][p]);
            }
        }
        carry_tile<L, S, R, P>(t, total);
    }

    template <int R, int P>
    static void tile(const Tile& t) {
        if constexpr (S == 0)
            chains<R, P>(t);
        else
            sums<R, P>(t);
    }

    /// Multiplies a tile of at most R rows, P registers of columns at a time.
    template <int R, int P>
    static void multiply(const Tile& t) {
        if (P == 2 && !t.narrow) return multiply_rows<Words, R, P>(t);
        multiply_rows<Words, R, 1>(t);
        if (t.narrow) return;
        Tile right = t;
        right.b += L::width;
        right.c += L::width;
        right.columns -= L::width;
        if (S != 0) right.scale_b += L::width;
        multiply_rows<Words, R, 1>(right);
    }

    template <int R, int P>
    static constexpr MatmulKernel kernel() {
        MatmulKernel k;
        k.rows = R;
        k.cols = kCols;
        k.lanes = L::width;
        k.group = 1;
        k.a_words = k.b_words = kWords;
        k.groups_together = S == 0 ? 0 : 1;
        k.plain_rows = S == 0;
        k.pack_a = pack_a;
        k.pack_b = pack_b;
        k.multiply = multiply<R, P>;
        return k;
    }
};

}  // namespace
}  // namespace retrace::kernels
