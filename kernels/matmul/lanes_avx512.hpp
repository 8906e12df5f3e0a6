// SPDX-License-Identifier: MIT
// Sixteen 32-bit lanes, for the kernels of words.hpp and bytes.hpp. Included only by files compiled for AVX-512.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own intrinsics start from an undefined register and warn about it (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>

namespace retrace::kernels {
namespace {

struct LanesAvx512 {
    static constexpr int width = 16;
    using F = __m512;
    using I = __m512i;

    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static I load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
    static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
    static void store(std::uint32_t* p, I x) { _mm512_storeu_si512(p, x); }
    /// Loads or stores the first `lanes` lanes, 0 to 15; the others are zero after a load and unchanged in memory by a
    /// store.
    static F load_some(const float* p, int lanes) { return _mm512_maskz_loadu_ps(first(lanes), p); }
    static void store_some(float* p, int lanes, F x) { _mm512_mask_storeu_ps(p, first(lanes), x); }
    static __mmask16 first(int lanes) { return static_cast<__mmask16>((1u << lanes) - 1); }
    static F broadcast(float x) { return _mm512_set1_ps(x); }
    static I broadcast(std::int32_t x) { return _mm512_set1_epi32(x); }
    static F zero() { return _mm512_setzero_ps(); }
    static I zero_words() { return _mm512_setzero_si512(); }
    static I bits(F x) { return _mm512_castps_si512(x); }
    static F floats(I x) { return _mm512_castsi512_ps(x); }

    static F add(F a, F b) { return _mm512_add_ps(a, b); }
    static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static I add(I a, I b) { return _mm512_add_epi32(a, b); }
    static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
    static I bit_or(I a, I b) { return _mm512_or_si512(a, b); }
    static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
    static I max(I a, I b) { return _mm512_max_epi32(a, b); }
    static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
    template <int n>
    static I shift_left(I x) {
        return _mm512_slli_epi32(x, n);
    }
    template <int n>
    static I shift_right(I x) {
        return _mm512_srai_epi32(x, n);
    }
    /// Combines the low halves of `low` with the high halves of `high`.
    static I halves(I low, I high) { return _mm512_mask_blend_epi16(0xaaaaaaaau, low, high); }
    /// Returns sum + the two products of int16 in each lane. In assembly, because the compiler starts all products
    /// early and spills the sums.
    static I add_dot16(I sum, I a, I b) {
        I product;
        asm("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(product) : "v"(a), "v"(b));
        return sum;
    }
    /// Returns sum + the four products of unsigned and signed bytes in each lane, by AVX-512 VNNI. In assembly, because
    /// GCC 12 spills registers around its intrinsic.
    static I add_dot8(I sum, I unsigned_bytes, I signed_bytes) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
        return sum;
    }
    /// Rounds to nearest even.
    static I to_int(F x) { return _mm512_cvtps_epi32(x); }
    static F to_float(I x) { return _mm512_cvtepi32_ps(x); }
    /// Returns 256·high + low, rounded once.
    static F wide_to_float(I high, I low) {
        const __m256 lower = wide_half(_mm512_castsi512_si256(high), _mm512_castsi512_si256(low));
        const __m256 upper = wide_half(_mm512_extracti64x4_epi64(high, 1), _mm512_extracti64x4_epi64(low, 1));
        return _mm512_insertf32x8(_mm512_castps256_ps512(lower), upper, 1);
    }
    /// All bits set where a < b, signed.
    static I less(I a, I b) { return _mm512_movm_epi32(_mm512_cmplt_epi32_mask(a, b)); }
    static bool any_less(I a, I b) { return _mm512_cmplt_epi32_mask(a, b) != 0; }
    static std::uint32_t reduce_max(I x) {
        const __m256i half = _mm256_max_epi32(_mm512_castsi512_si256(x), _mm512_maskz_extracti64x4_epi64(0xff, x, 1));
        __m128i m = _mm_max_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
        return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
    }
    static std::int32_t reduce_add(I x) {
        const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_maskz_extracti64x4_epi64(0xff, x, 1));
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
    }
    /// The epilogue of contract 1.
    static F finish(F x) {
        const I sign = broadcast(INT32_MIN);
        const I magnitude = _mm512_andnot_si512(sign, bits(x));
        const __mmask16 tiny = _mm512_cmplt_epi32_mask(magnitude, broadcast(0x00800000));
        const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, broadcast(0x7f800000));
        const I flushed = _mm512_mask_and_epi32(bits(x), tiny, bits(x), sign);
        return floats(_mm512_mask_mov_epi32(flushed, nan, broadcast(0x7fc00000)));
    }
    /// dst[c][r] = src[r][c] for 16×16 words; strides in words.
    static void transpose(const std::uint32_t* src, std::uint64_t src_stride, std::uint32_t* dst,
                          std::uint64_t dst_stride) {
        I r[16], t[16];
        for (int i = 0; i < 16; ++i) r[i] = load(src + static_cast<std::uint64_t>(i) * src_stride);
        for (int i = 0; i < 16; i += 2) {
            t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
            t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
        }
        for (int i = 0; i < 16; i += 4) {
            r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
            r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
            r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
            r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
        }
        // r[4g + c] holds, in 128-bit lane l, column 4l + c of rows 4g .. 4g+3.
        for (int c = 0; c < 4; ++c) {
            const I low0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);   // lanes 0, 2 of both
            const I high0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);  // lanes 1, 3 of both
            const I low1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
            const I high1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
            const std::uint64_t at = static_cast<std::uint64_t>(c);
            store(dst + at * dst_stride, _mm512_shuffle_i32x4(low0, low1, 0x88));
            store(dst + (at + 4) * dst_stride, _mm512_shuffle_i32x4(high0, high1, 0x88));
            store(dst + (at + 8) * dst_stride, _mm512_shuffle_i32x4(low0, low1, 0xdd));
            store(dst + (at + 12) * dst_stride, _mm512_shuffle_i32x4(high0, high1, 0xdd));
        }
    }

    /// Byte `byte` of all lanes of d[0], d[1], d[2], d[3], in this order.
    template <int byte>
    static I bytes_along(const I d[4]) {
        // The packing instructions work within 128-bit lanes; this permutation restores the order of their words.
        const I order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        return _mm512_permutexvar_epi32(order, _mm512_packus_epi16(bytes_of_two<byte>(d), bytes_of_two<byte>(d + 2)));
    }
    /// In each lane, byte `byte` of that lane of d[0], d[1], d[2], d[3].
    template <int byte>
    static I bytes_across(const I d[4]) {
        if constexpr (byte == 2) {
            const I low = broadcast(0xff);
            const auto third = [&](I x) { return bit_and(_mm512_srli_epi32(x, 16), low); };
            return bit_or(bit_or(third(d[0]), shift_left<8>(third(d[1]))),
                          shift_left<16>(bit_or(third(d[2]), shift_left<8>(third(d[3])))));
        }
        const I order = broadcast(0x03010200);  // bytes 0, 2, 1, 3 of each lane
        const I spread = _mm512_add_epi32(order, _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0));
        // Each pair: low half = byte 0 of both, high half = byte 1.
        const I low = _mm512_shuffle_epi8(halves(d[0], shift_left<16>(d[1])), spread);
        const I high = _mm512_shuffle_epi8(halves(d[2], shift_left<16>(d[3])), spread);
        return byte == 0 ? halves(low, shift_left<16>(high)) : halves(_mm512_srli_epi32(low, 16), high);
    }

private:
    /// Byte `byte` of all lanes of d[0] and d[1] as words of 16 bits, in the order of the packing instructions.
    template <int byte>
    static I bytes_of_two(const I d[2]) {
        if constexpr (byte == 2) {
            const I low = broadcast(0xff);
            return _mm512_packus_epi32(bit_and(_mm512_srli_epi32(d[0], 16), low),
                                       bit_and(_mm512_srli_epi32(d[1], 16), low));
        }
        const I half = broadcast(0xffff);
        const I words = _mm512_packus_epi32(bit_and(d[0], half), bit_and(d[1], half));
        return byte == 0 ? bit_and(words, broadcast(0x00ff00ff)) : _mm512_srli_epi16(words, 8);
    }
    static __m256 wide_half(__m256i high, __m256i low) {
        const I sum = _mm512_add_epi64(_mm512_slli_epi64(_mm512_cvtepi32_epi64(high), 8), _mm512_cvtepi32_epi64(low));
        return _mm512_cvtepi64_ps(sum);
    }
};

}  // namespace
}  // namespace retrace::kernels
