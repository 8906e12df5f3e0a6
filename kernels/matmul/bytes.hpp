// SPDX-License-Identifier: MIT
// Packing for units that multiply bytes: a word holds one digit of four consecutive k. Included only by *_vnni.cpp and
// *_amx.cpp.
//
// With S digits, the bytes of q + 128 + 128·256 + … are the digits of q, each plus 128; so one addition slices, and
// an exclusive or with 0x80 makes such a byte signed.
#pragma once

#include "kernels/matmul/lanes_avx512.hpp"
#include "kernels/matmul/slicing.hpp"

namespace retrace::kernels {
namespace {

/// `unsigned_b`: B's digits are stored plus 128, for units that multiply unsigned by signed bytes.
template <int S, bool unsigned_b>
struct Bytes {
    using L = LanesAvx512;
    using I = L::I;
    static constexpr std::uint32_t kGroup = 4, kGroups = kBlockK / kGroup;
    static constexpr std::uint32_t kRowWords = S * kGroups;
    static constexpr std::uint32_t kCols = 2 * L::width;

    static constexpr std::int32_t kOffsets = S == 1 ? 0x80 : S == 2 ? 0x8080 : 0x808080;

    /// Returns the digits of q as bytes: byte S-1-t of each lane is digit t plus 128.
    static I digits(I q) { return L::add(q, L::broadcast(kOffsets)); }

    /// Takes four packed digits per lane, each plus 128, and returns them unchanged or as signed bytes.
    template <bool with_offset>
    static I sign(I packed) {
        return with_offset ? packed : _mm512_xor_si512(packed, L::broadcast(static_cast<std::int32_t>(0x80808080u)));
    }

    /// Packs one vector along K into its row, 64 values at a time: `n` values, with zeros up to the next multiple of
    /// 64.
    template <bool with_offset>
    static void along(const float* x, std::uint32_t n, std::uint32_t* out, float* scale) {
        const std::uint32_t count = (n + 63) / 64 * 64;
        const L::F factor = factor_along<L, S>(x, count, scale);
        for (std::uint32_t k = 0; k < count; k += 64) {
            I d[4];
            for (int i = 0; i < 4; ++i) d[i] = digits(L::to_int(L::mul(L::load(x + k + 16 * i), factor)));
            store_digits<with_offset>(d, out + k / kGroup);
        }
    }

    /// Packs `lanes` adjacent vectors (a multiple of 16) into panels of `cols` columns; groups are filled up to the
    /// next multiple of 16.
    template <bool with_offset>
    static void across(const float* x, std::uint64_t k_stride, std::uint32_t n, std::uint32_t lanes, std::uint32_t* out,
                       std::uint32_t cols, float* scale) {
        Factors<L, S> factors;
        factors.prepare(x, k_stride, n, lanes, scale);
        for (std::uint32_t g = 0; g < (n + 63) / 64 * 16; ++g) {
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
                along<false>(vector_of(source, v, 64, copy), source.n, out + v * kRowWords, scale + v);
            }
        }
        if constexpr (unsigned_b) {
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                offsets(out + v * kRowWords, (source.n + 63) / 64 * 16, start + v * kSlicesMax);
            }
        }
    }

    static void pack_b(const PackSource& source, std::uint32_t* out, float* scale) {
        if (source.vector_stride == 1) return across_all<unsigned_b>(source, out, kCols, scale);
        for (std::uint32_t v = 0; v < (source.vectors + kCols - 1) / kCols * kCols; v += L::width) {
            turn_columns(source, v, out + v / kCols * (kRowWords * kCols) + v % kCols, scale + v);
        }
    }

    /// Returns sum + the four products of unsigned and signed bytes in each lane. In assembly, because GCC 12 spills
    /// registers around its intrinsic.
    static I add_dot8(I sum, I unsigned_bytes, I signed_bytes) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
        return sum;
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

    /// Packs sixteen columns of B whose values are adjacent along K.
    static void turn_columns(const PackSource& source, std::uint32_t first, std::uint32_t* out, float* scale) {
        alignas(64) float copy[kBlockK];
        alignas(64) std::uint32_t rows[kRowWords * L::width];
        for (std::uint32_t v = 0; v < L::width; ++v) {
            std::uint32_t* const row = rows + v * kRowWords;
            scale[v] = 0.0f;
            if (first + v < source.vectors) {
                along<unsigned_b>(vector_of(source, first + v, 64, copy), source.n, row, scale + v);
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

    /// Stores 64 values, one digit in each byte of a lane, as S registers of 64 digits.
    template <bool with_offset>
    static void store_digits(const I d[4], std::uint32_t* row) {
        // The packing instructions work within 128-bit lanes; this permutation restores the order of their words.
        const I order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        const I low = L::broadcast(0x00ff00ff), half = L::broadcast(0xffff);
        const auto words = [&](I x, I y) { return _mm512_packus_epi32(L::bit_and(x, half), L::bit_and(y, half)); };
        const I w0 = words(d[0], d[1]), w1 = words(d[2], d[3]);
        const auto store = [&](std::uint32_t digit, I x, I y) {
            const I packed = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(x, y));
            L::store(row + digit * kGroups, sign<with_offset>(packed));
        };
        store(S - 1, L::bit_and(w0, low), L::bit_and(w1, low));
        if constexpr (S > 1) store(S - 2, _mm512_srli_epi16(w0, 8), _mm512_srli_epi16(w1, 8));
        if constexpr (S > 2) {
            const I byte = L::broadcast(0xff);
            const I h0 = _mm512_packus_epi32(byte_two(d[0], byte), byte_two(d[1], byte));
            const I h1 = _mm512_packus_epi32(byte_two(d[2], byte), byte_two(d[3], byte));
            store(0, h0, h1);
        }
    }

    /// Stores four k, one digit in each byte of a lane, as S words of four k each.
    template <bool with_offset>
    static void gather_digits(const I d[4], std::uint32_t* out, std::uint32_t stride) {
        const I order = L::broadcast(0x03010200);  // bytes 0, 2, 1, 3 of each lane
        const I spread = _mm512_add_epi32(order, _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0));
        const I pair0 = _mm512_shuffle_epi8(L::halves(d[0], L::shift_left<16>(d[1])), spread);
        const I pair1 = _mm512_shuffle_epi8(L::halves(d[2], L::shift_left<16>(d[3])), spread);
        // Each pair: low half = lowest digit of both k, high half = the digit above.
        L::store(out + (S - 1) * stride, sign<with_offset>(L::halves(pair0, L::shift_left<16>(pair1))));
        if constexpr (S > 1) {
            L::store(out + (S - 2) * stride, sign<with_offset>(L::halves(_mm512_srli_epi32(pair0, 16), pair1)));
        }
        if constexpr (S > 2) {
            const I low = L::broadcast(0xff);
            const I third[4] = {byte_two(d[0], low), byte_two(d[1], low), byte_two(d[2], low), byte_two(d[3], low)};
            const I lower = L::bit_or(third[0], L::shift_left<8>(third[1]));
            const I upper = L::bit_or(third[2], L::shift_left<8>(third[3]));
            L::store(out, sign<with_offset>(L::bit_or(lower, L::shift_left<16>(upper))));
        }
    }
    static I byte_two(I d, I low) { return L::bit_and(_mm512_srli_epi32(d, 16), low); }

    /// Computes the initial sums of one row that cancel the offsets of B: S_g starts at -128 · Σ (digits 0..g of A).
    static void offsets(const std::uint32_t* row, std::uint32_t groups, std::int32_t* start) {
        std::int32_t sum = 0;
        for (std::uint32_t t = 0; t < S; ++t) {
            I partial = L::zero_words();
            for (std::uint32_t g = 0; g < groups; g += L::width) {
                partial = add_dot8(partial, _mm512_set1_epi8(1), L::load(row + t * kGroups + g));
            }
            sum += L::reduce_add(partial);
            start[t] = -128 * sum;
        }
    }
};

}  // namespace
}  // namespace retrace::kernels
