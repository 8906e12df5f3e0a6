// SPDX-License-Identifier: MIT
// Packing for units that multiply bytes: a word holds one digit of four consecutive k. L is a type of lanes
// (lanes_*.hpp). Included only by files compiled for one instruction set.
//
// With S digits, the bytes of q + 128 + 128·256 + … are the digits of q, each plus 128; so one addition slices, and
// an exclusive or with 0x80 makes such a byte signed.
#pragma once

#include "kernels/matmul/slicing.hpp"

namespace retrace::kernels {
namespace {

/// `unsigned_b`: B's digits are stored plus 128, for units that multiply unsigned by signed bytes. `cols`: columns of a
/// panel, a multiple of the lanes.
template <class L, int S, bool unsigned_b, std::uint32_t cols_ = 2 * L::width>
struct Bytes {
    using I = typename L::I;
    static constexpr std::uint32_t kWidth = L::width;
    static constexpr std::uint32_t kGroup = 4, kGroups = kBlockK / kGroup;
    static constexpr std::uint32_t kRowWords = S * kGroups;
    static constexpr std::uint32_t kCols = cols_;
    static constexpr std::uint32_t kUnit = kGroup * kWidth;  ///< Values along K that four registers hold.

    /// Groups of a vector of `n` values with the zeros that fill up its last unit.
    static constexpr std::uint32_t groups_of(std::uint32_t n) { return (n + kUnit - 1) / kUnit * kWidth; }

    static constexpr std::int32_t kOffsets = S == 1 ? 0x80 : S == 2 ? 0x8080 : 0x808080;

    /// Returns the digits of q as bytes: byte S-1-t of each lane is digit t plus 128.
    static I digits(I q) { return L::add(q, L::broadcast(kOffsets)); }

    /// Takes four packed digits per lane, each plus 128, and returns them unchanged or as signed bytes.
    template <bool with_offset>
    static I sign(I packed) {
        return with_offset ? packed : L::bit_xor(packed, L::broadcast(static_cast<std::int32_t>(0x80808080u)));
    }

    /// Packs one vector along K into its row, kUnit values at a time: `n` values, with zeros up to the next multiple.
    template <bool with_offset>
    static void along(const float* x, std::uint32_t n, std::uint32_t* out, float* scale) {
        const std::uint32_t count = groups_of(n) * kGroup;
        const typename L::F factor = factor_along<L, S>(x, count, scale);
        for (std::uint32_t k = 0; k < count; k += kUnit) {
            I d[kGroup];
            for (std::uint32_t i = 0; i < kGroup; ++i) {
                d[i] = digits(L::to_int(L::mul(L::load(x + k + kWidth * i), factor)));
            }
            store_digits<with_offset>(d, out + k / kGroup);
        }
    }

    /// Packs `lanes` adjacent vectors (a multiple of the width) into panels of `cols` columns; groups are filled up to
    /// groups_of(n).
    template <bool with_offset>
    static void across(const float* x, std::uint64_t k_stride, std::uint32_t n, std::uint32_t lanes, std::uint32_t* out,
                       std::uint32_t cols, float* scale) {
        Factors<L, S> factors;
        factors.prepare(x, k_stride, n, lanes, scale);
        for (std::uint32_t g = 0; g < groups_of(n); ++g) {
            const std::uint32_t here = g * kGroup >= n ? 0 : n - g * kGroup < kGroup ? n - g * kGroup : kGroup;
            for (std::uint32_t v = 0; v < lanes; v += L::width) {
                I d[kGroup];
                for (std::uint32_t i = 0; i < kGroup; ++i) {
                    d[i] =
                        digits(i < here ? factors.quantise(x + (g * kGroup + i) * k_stride + v, v) : L::zero_words());
                }
                gather_digits<with_offset>(d, out + v / cols * (kRowWords * cols) + g * S * cols + v % cols, cols);
            }
        }
    }

    /// The same for any number of vectors; lanes up to the next multiple of `cols` are written.
    template <bool with_offset>
    static void across_all(const PackSource& source, std::uint32_t* out, std::uint32_t cols, float* scale) {
        const std::uint32_t whole = source.vectors / L::width * L::width;
        if (whole != 0) across<with_offset>(source.data, source.k_stride, source.n, whole, out, cols, scale);
        alignas(64) float copy[kBlockK * L::width];
        for (std::uint32_t v = whole; v < (source.vectors + cols - 1) / cols * cols; v += L::width) {
            copy_across<L>(source, v, copy);
            across<with_offset>(copy, L::width, source.n, L::width, out + v / cols * (kRowWords * cols) + v % cols,
                                cols, scale + v);
        }
    }

    static void pack_a(const PackSource& source, std::uint32_t* out, float* scale, std::int32_t* start) {
        if (source.vector_stride == 1 && source.k_stride != 1) {
            turn_rows(source, out, scale);
        } else {
            alignas(64) float copy[kBlockK];
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                along<false>(vector_of(source, v, kUnit, copy), source.n, out + v * kRowWords, scale + v);
            }
        }
        if constexpr (unsigned_b) {
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                offsets(out + v * kRowWords, groups_of(source.n), start + v * kSlicesMax);
            }
        }
    }

    static void pack_b(const PackSource& source, std::uint32_t* out, float* scale) {
        if (source.vector_stride == 1) return across_all<unsigned_b>(source, out, kCols, scale);
        for (std::uint32_t v = 0; v < (source.vectors + kCols - 1) / kCols * kCols; v += L::width) {
            turn_columns(source, v, out + v / kCols * (kRowWords * kCols) + v % kCols, scale + v);
        }
    }

private:
    /// Packs rows of A that are adjacent in memory (row stride 1).
    static void turn_rows(const PackSource& source, std::uint32_t* out, float* scale) {
        alignas(64) std::uint32_t turned[kRowWords * kPackRows];
        across_all<false>(source, turned, L::width, scale);
        for (std::uint32_t v = 0; v < source.vectors; v += L::width) {
            for (std::uint32_t g = 0; g * kGroup < source.n; g += L::width) {
                for (std::uint32_t t = 0; t < S; ++t) {
                    L::transpose(turned + v * kRowWords + (g * S + t) * L::width, S * L::width,
                                 out + v * kRowWords + t * kGroups + g, kRowWords);
                }
            }
        }
    }

    /// Packs a register of columns of B whose values are adjacent along K.
    static void turn_columns(const PackSource& source, std::uint32_t first, std::uint32_t* out, float* scale) {
        alignas(64) float copy[kBlockK];
        alignas(64) std::uint32_t rows[kRowWords * L::width];
        for (std::uint32_t v = 0; v < L::width; ++v) {
            std::uint32_t* const row = rows + v * kRowWords;
            scale[v] = 0.0f;
            if (first + v < source.vectors) {
                along<unsigned_b>(vector_of(source, first + v, kUnit, copy), source.n, row, scale + v);
            } else {
                for (std::uint32_t i = 0; i < kRowWords; ++i) row[i] = 0;
            }
        }
        for (std::uint32_t g = 0; g * kGroup < source.n; g += L::width) {
            for (std::uint32_t t = 0; t < S; ++t) {
                L::transpose(rows + t * kGroups + g, kRowWords, out + (g * S + t) * kCols, S * kCols);
            }
        }
    }

    /// Stores kUnit values, one digit in each byte of a lane, as S registers of digits.
    template <bool with_offset, int byte = 0>
    static void store_digits(const I d[4], std::uint32_t* row) {
        L::store(row + (S - 1 - byte) * kGroups, sign<with_offset>(L::template bytes_along<byte>(d)));
        if constexpr (byte + 1 < S) store_digits<with_offset, byte + 1>(d, row);
    }

    /// Stores four k, one digit in each byte of a lane, as S words of four k each.
    template <bool with_offset, int byte = 0>
    static void gather_digits(const I d[4], std::uint32_t* out, std::uint32_t stride) {
        L::store(out + (S - 1 - byte) * stride, sign<with_offset>(L::template bytes_across<byte>(d)));
        if constexpr (byte + 1 < S) gather_digits<with_offset, byte + 1>(d, out, stride);
    }

    /// Computes the initial sums of one row that cancel the offsets of B: S_g starts at -128 · Σ (digits 0..g of A).
    static void offsets(const std::uint32_t* row, std::uint32_t groups, std::int32_t* start) {
        std::int32_t sum = 0;
        for (std::uint32_t t = 0; t < S; ++t) {
            I partial = L::zero_words();
            for (std::uint32_t g = 0; g < groups; g += L::width) {
                partial = L::add_dot8(partial, L::broadcast(0x01010101), L::load(row + t * kGroups + g));
            }
            sum += L::reduce_add(partial);
            start[t] = -128 * sum;
        }
    }
};

}  // namespace
}  // namespace retrace::kernels
