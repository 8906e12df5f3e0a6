// SPDX-License-Identifier: MIT
// Eight 32-bit lanes, for the kernels of words.hpp and bytes.hpp. Included only by files that are compiled for AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace retrace::kernels {
namespace {

struct LanesAvx2 {
    static constexpr int width = 8;
    using F = __m256;
    using I = __m256i;

    static F load(const float* p) { return _mm256_loadu_ps(p); }
    static I load(const std::uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const I*>(p)); }
    static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
    static void store(std::uint32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<I*>(p), x); }
    /// Loads or stores the first `lanes` lanes, 0 to 7; the others are zero after a load and unchanged in memory by a
    /// store.
    static F load_some(const float* p, int lanes) { return _mm256_maskload_ps(p, first(lanes)); }
    static void store_some(float* p, int lanes, F x) { _mm256_maskstore_ps(p, first(lanes), x); }
    static I first(int lanes) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static F broadcast(float x) { return _mm256_set1_ps(x); }
    static I broadcast(std::int32_t x) { return _mm256_set1_epi32(x); }
    static F zero() { return _mm256_setzero_ps(); }
    static I zero_words() { return _mm256_setzero_si256(); }
    static I bits(F x) { return _mm256_castps_si256(x); }
    static F floats(I x) { return _mm256_castsi256_ps(x); }

    static F add(F a, F b) { return _mm256_add_ps(a, b); }
    static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    static I add(I a, I b) { return _mm256_add_epi32(a, b); }
    static I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
    static I bit_or(I a, I b) { return _mm256_or_si256(a, b); }
    static I bit_xor(I a, I b) { return _mm256_xor_si256(a, b); }
    static I max(I a, I b) { return _mm256_max_epi32(a, b); }
    static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
    template <int n>
    static I shift_left(I x) {
        return _mm256_slli_epi32(x, n);
    }
    template <int n>
    static I shift_right(I x) {
        return _mm256_srai_epi32(x, n);
    }
    /// Combines the low halves of `low` with the high halves of `high`.
    static I halves(I low, I high) { return _mm256_blend_epi16(low, high, 0xaa); }
    /// Returns sum + the two products of int16 in each lane. In assembly, because the compiler starts all products
    /// early and spills the sums.
    static I add_dot16(I sum, I a, I b) {
        I product;
        asm("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(a), "x"(b));
        return sum;
    }
    /// Rounds to nearest even.
    static I to_int(F x) { return _mm256_cvtps_epi32(x); }
    static F to_float(I x) { return _mm256_cvtepi32_ps(x); }
    /// Returns 256·high + low, rounded once. A double holds the sum exactly.
    static F wide_to_float(I high, I low) {
        return _mm256_set_m128(wide_half(_mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1)),
                               wide_half(_mm256_castsi256_si128(high), _mm256_castsi256_si128(low)));
    }
    /// All bits set where a < b, signed.
    static I less(I a, I b) { return _mm256_cmpgt_epi32(b, a); }
    static bool any_less(I a, I b) { return _mm256_movemask_epi8(less(a, b)) != 0; }
    static std::uint32_t reduce_max(I x) {
        __m128i m = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
        return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
    }
    /// The epilogue of contract 1.
    static F finish(F x) {
        const I sign = broadcast(INT32_MIN);
        const I magnitude = _mm256_andnot_si256(sign, bits(x));
        const I tiny = less(magnitude, broadcast(0x00800000)), nan = less(broadcast(0x7f800000), magnitude);
        const I flushed = _mm256_blendv_epi8(bits(x), bit_and(bits(x), sign), tiny);
        return floats(_mm256_blendv_epi8(flushed, broadcast(0x7fc00000), nan));
    }
    /// dst[c][r] = src[r][c] for 8×8 words; strides in words.
    static void transpose(const std::uint32_t* src, std::uint64_t src_stride, std::uint32_t* dst,
                          std::uint64_t dst_stride) {
        I r[8], t[8];
        for (int i = 0; i < 8; ++i) r[i] = load(src + static_cast<std::uint64_t>(i) * src_stride);
        for (int i = 0; i < 8; i += 2) {
            t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
            t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
        }
        for (int i = 0; i < 8; i += 4) {
            r[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
            r[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
            r[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
            r[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
        }
        for (int i = 0; i < 4; ++i) {
            store(dst + static_cast<std::uint64_t>(i) * dst_stride, _mm256_permute2x128_si256(r[i], r[i + 4], 0x20));
            store(dst + static_cast<std::uint64_t>(i + 4) * dst_stride,
                  _mm256_permute2x128_si256(r[i], r[i + 4], 0x31));
        }
    }
    static std::int32_t reduce_add(I x) {
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
    }
    /// Byte `byte` of all lanes of d[0], d[1], d[2], d[3], in this order.
    template <int byte>
    static I bytes_along(const I d[4]) {
        // The packing instructions work within 128-bit lanes; this permutation restores the order of their words.
        const I order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        const I packed = _mm256_packus_epi16(bytes_of_two<byte>(d), bytes_of_two<byte>(d + 2));
        return _mm256_permutevar8x32_epi32(packed, order);
    }
    /// In each lane, byte `byte` of that lane of d[0], d[1], d[2], d[3].
    template <int byte>
    static I bytes_across(const I d[4]) {
        if constexpr (byte == 2) {
            const I low = broadcast(0xff);
            const auto third = [&](I x) { return bit_and(_mm256_srli_epi32(x, 16), low); };
            return bit_or(bit_or(third(d[0]), shift_left<8>(third(d[1]))),
                          shift_left<16>(bit_or(third(d[2]), shift_left<8>(third(d[3])))));
        }
        // Bytes 0, 2, 1, 3 of each lane. Each pair: low half = byte 0 of both, high half = byte 1.
        const I spread = _mm256_broadcastsi128_si256(_mm_setr_epi32(0x03010200, 0x07050604, 0x0b090a08, 0x0f0d0e0c));
        const I low = _mm256_shuffle_epi8(halves(d[0], shift_left<16>(d[1])), spread);
        const I high = _mm256_shuffle_epi8(halves(d[2], shift_left<16>(d[3])), spread);
        return byte == 0 ? halves(low, shift_left<16>(high)) : halves(_mm256_srli_epi32(low, 16), high);
    }

private:
    /// Byte `byte` of all lanes of d[0] and d[1] as words of 16 bits, in the order of the packing instructions.
    template <int byte>
    static I bytes_of_two(const I d[2]) {
        if constexpr (byte == 2) {
            const I low = broadcast(0xff);
            return _mm256_packus_epi32(bit_and(_mm256_srli_epi32(d[0], 16), low),
                                       bit_and(_mm256_srli_epi32(d[1], 16), low));
        }
        const I half = broadcast(0xffff);
        const I words = _mm256_packus_epi32(bit_and(d[0], half), bit_and(d[1], half));
        return byte == 0 ? bit_and(words, broadcast(0x00ff00ff)) : _mm256_srli_epi16(words, 8);
    }
    static __m128 wide_half(__m128i high, __m128i low) {
        const __m256d sum =
            _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(256.0)), _mm256_cvtepi32_pd(low));
        return _mm256_cvtpd_ps(sum);
    }
};

}  // namespace
}  // namespace retrace::kernels
