// SPDX-License-Identifier: MIT
// Packing for units that multiply bytes: a word holds one digit of four consecutive k. Included by *_vnni.cpp and
// *_amx.cpp alone.
//
// With S digits, q + 128 + 128·256 + … has the digits of q, each plus 128 but the first, as its bytes; so one addition
// slices, and an exclusive or with 0x80 turns a byte with offset into a signed one or back.
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

    /// Digits of q as bytes: byte S-1-t of each lane is digit t, signed or plus 128.
    template <bool with_offset>
    static I digits(I q) {
        constexpr std::int32_t all = S == 1 ? 0x80 : S == 2 ? 0x8080 : 0x808080;
        const I biased = L::add(q, L::broadcast(all));
        return with_offset ? biased : _mm512_xor_si512(biased, L::broadcast(all));
    }

    /// One vector along K into its row, 16 values at a time; `n` of them, zeros up to the next multiple of 64.
    template <bool with_offset>
    static void along(const float* x, std::uint32_t n, std::uint32_t* out, float* scale) {
        const std::uint32_t count = (n + 15) / 16 * 16;
        const Quantiser<L> quantise = quantiser_along<L, S>(x, count, scale);
        const __m128i empty = _mm_set1_epi8(with_offset ? -128 : 0);
        for (std::uint32_t k = 0; k < (n + 63) / 64 * 64; k += 16) {
            const I d = k < count ? digits<with_offset>(quantise(L::load(x + k))) : L::zero_words();
            store_bytes<0>(out, k, k < count ? byte_of<S - 1>(d) : empty);
            if constexpr (S > 1) store_bytes<1>(out, k, k < count ? byte_of<S - 2>(d) : empty);
            if constexpr (S > 2) store_bytes<2>(out, k, k < count ? byte_of<S - 3>(d) : empty);
        }
    }

    /// Sixteen adjacent vectors: digit t of group g at out[(g · S + t) · stride]. Groups up to the next multiple of 16.
    template <bool with_offset>
    static void across(const PackSource& source, std::uint32_t* out, std::uint32_t stride, float* scale) {
        alignas(64) float copy[kBlockK * L::width];
        const float* x = source.data;
        std::uint64_t k_stride = source.k_stride;
        const std::uint32_t whole = source.n / kGroup;
        if (source.vectors < L::width) {
            copy_across(source, L::width, copy);
            x = copy;
            k_stride = L::width;
        }
        const Quantiser<L> quantise = quantiser_across<L, S>(x, k_stride, source.n, scale);
        for (std::uint32_t g = 0; g < (source.n + 63) / 64 * 16; ++g) {
            I d[kGroup];
            for (std::uint32_t i = 0; i < kGroup; ++i) {
                const std::uint32_t k = g * kGroup + i;
                d[i] = digits<with_offset>(g < whole || k < source.n ? quantise(L::load(x + k * k_stride))
                                                                     : L::zero_words());
            }
            gather_digits(d, out + g * S * stride, stride);
        }
    }

    static void pack_a(const PackSource& source, std::uint32_t* out, float* scale, std::int32_t* start) {
        if (source.vector_stride == 1 && source.k_stride != 1) {
            alignas(64) std::uint32_t turned[kRowWords * L::width];
            across<false>(source, turned, L::width, scale);
            for (std::uint32_t g = 0; g * kGroup < source.n; g += L::width) {
                for (std::uint32_t t = 0; t < S; ++t) {
                    L::transpose(turned + (g * S + t) * L::width, S * L::width, out + t * kGroups + g, kRowWords);
                }
            }
        } else {
            alignas(64) float copy[kBlockK];
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                along<false>(vector_of(source, v, L::width, copy), source.n, out + v * kRowWords, scale + v);
            }
        }
        if constexpr (unsigned_b) {
            for (std::uint32_t v = 0; v < source.vectors; ++v) {
                offsets(out + v * kRowWords, (source.n + 63) / 64 * 16, start + v * kSlicesMax);
            }
        }
    }

    static void pack_b(const PackSource& source, std::uint32_t* out, float* scale) {
        if (source.vector_stride == 1 || source.vectors == 0) return across<unsigned_b>(source, out, kCols, scale);
        alignas(64) float copy[kBlockK];
        alignas(64) std::uint32_t rows[kRowWords * L::width];
        for (std::uint32_t v = 0; v < L::width; ++v) {
            std::uint32_t* const row = rows + v * kRowWords;
            scale[v] = 0.0f;
            if (v < source.vectors) along<unsigned_b>(vector_of(source, v, L::width, copy), source.n, row, scale + v);
            else for (std::uint32_t i = 0; i < kRowWords; ++i) row[i] = 0;
        }
        for (std::uint32_t g = 0; g * kGroup < source.n; g += L::width) {
            for (std::uint32_t t = 0; t < S; ++t) {
                L::transpose(rows + t * kGroups + g, kRowWords, out + (g * S + t) * kCols, S * kCols);
            }
        }
    }

private:
    template <int byte>
    static __m128i byte_of(I d) { return _mm512_cvtepi32_epi8(_mm512_srli_epi32(d, 8 * byte)); }

    template <int digit>
    static void store_bytes(std::uint32_t* row, std::uint32_t k, __m128i bytes) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(row + digit * kGroups + k / 4), bytes);
    }

    /// From four k, a digit in each byte of a lane, to S words of four k each.
    static void gather_digits(const I d[4], std::uint32_t* out, std::uint32_t stride) {
        const I order = L::broadcast(0x03010200);  // bytes 0, 2, 1, 3 of each lane
        const I spread = _mm512_add_epi32(order, _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0));
        const I pair0 = _mm512_shuffle_epi8(L::halves(d[0], L::shift_left<16>(d[1])), spread);
        const I pair1 = _mm512_shuffle_epi8(L::halves(d[2], L::shift_left<16>(d[3])), spread);
        // Each pair: low half = lowest digit of both k, high half = the digit above.
        L::store(out + (S - 1) * stride, L::halves(pair0, L::shift_left<16>(pair1)));
        if constexpr (S > 1) L::store(out + (S - 2) * stride, L::halves(_mm512_srli_epi32(pair0, 16), pair1));
        if constexpr (S > 2) {
            const I low = L::broadcast(0xff);
            const I third[4] = {byte_two(d[0], low), byte_two(d[1], low), byte_two(d[2], low), byte_two(d[3], low)};
            const I lower = L::bit_or(third[0], L::shift_left<8>(third[1]));
            const I upper = L::bit_or(third[2], L::shift_left<8>(third[3]));
            L::store(out, L::bit_or(lower, L::shift_left<16>(upper)));
        }
    }
    static I byte_two(I d, I low) { return L::bit_and(_mm512_srli_epi32(d, 16), low); }

    /// Where the sums of one row start, so that the offsets of B cancel: S_g starts at -128 · Σ (digits 0..g of A).
    static void offsets(const std::uint32_t* row, std::uint32_t groups, std::int32_t* start) {
        std::int32_t sum = 0;
        for (int t = 0; t < S; ++t) {
            I partial = L::zero_words();
            for (std::uint32_t g = 0; g < groups; g += L::width) {
                partial = add_dot8(partial, _mm512_set1_epi8(1), L::load(row + static_cast<std::uint32_t>(t) * kGroups + g));
            }
            alignas(64) std::uint32_t lanes[L::width];
            L::store(lanes, partial);
            for (const std::uint32_t lane : lanes) sum += static_cast<std::int32_t>(lane);
            start[t] = -128 * sum;
        }
    }

public:
    /// sum + the four products of unsigned and signed bytes in each lane. As assembly, because GCC 12 spills around
    /// its intrinsic.
    static I add_dot8(I sum, I unsigned_bytes, I signed_bytes) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
        return sum;
    }
};

}  // namespace
}  // namespace retrace::kernels
