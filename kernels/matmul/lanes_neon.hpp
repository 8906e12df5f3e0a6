// SPDX-License-Identifier: MIT
// Four 32-bit lanes, for the kernels of words.hpp and bytes.hpp. Included only by files compiled for
// NEON, which every 64-bit ARM processor has.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace retrace::kernels {
namespace {

struct LanesNeon {
    static constexpr int width = 4;
    using F = float32x4_t;
    using I = int32x4_t;

    static F load(const float* p) { return vld1q_f32(p); }
    static I load(const std::uint32_t* p) { return vreinterpretq_s32_u32(vld1q_u32(p)); }
    static void store(float* p, F x) { vst1q_f32(p, x); }
    static void store(std::uint32_t* p, I x) { vst1q_u32(p, vreinterpretq_u32_s32(x)); }
    /// Loads or stores the first `lanes` lanes, 0 to 3; the others are zero after a load and unchanged in memory by a
    /// store.
    static F load_some(const float* p, int lanes) {
        float all[width] = {};
        for (int i = 0; i < lanes; ++i) all[i] = p[i];
        return vld1q_f32(all);
    }
    static void store_some(float* p, int lanes, F x) {
        float all[width];
        vst1q_f32(all, x);
        for (int i = 0; i < lanes; ++i) p[i] = all[i];
    }
    static F broadcast(float x) { return vdupq_n_f32(x); }
    static I broadcast(std::int32_t x) { return vdupq_n_s32(x); }
    static F zero() { return vdupq_n_f32(0.0f); }
    static I zero_words() { return vdupq_n_s32(0); }
    static I bits(F x) { return vreinterpretq_s32_f32(x); }
    static F floats(I x) { return vreinterpretq_f32_s32(x); }

    static F add(F a, F b) { return vaddq_f32(a, b); }
    static F mul(F a, F b) { return vmulq_f32(a, b); }
    static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
    static I add(I a, I b) { return vaddq_s32(a, b); }
    static I bit_and(I a, I b) { return vandq_s32(a, b); }
    static I bit_or(I a, I b) { return vorrq_s32(a, b); }
    static I bit_xor(I a, I b) { return veorq_s32(a, b); }
    static I max(I a, I b) { return vmaxq_s32(a, b); }
    static I sub(I a, I b) { return vsubq_s32(a, b); }
    template <int n>
    static I shift_left(I x) {
        return vshlq_n_s32(x, n);
    }
    template <int n>
    static I shift_right(I x) {
        return vshrq_n_s32(x, n);
    }
    /// Combines the low halves of `low` with the high halves of `high`.
    static I halves(I low, I high) { return vbslq_s32(vdupq_n_u32(0xffff), low, high); }
    /// Returns sum + the two products of int16 in each lane.
    static I add_dot16(I sum, I a, I b) {
        const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
        return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
    }
    /// Rounds to nearest even.
    static I to_int(F x) { return vcvtnq_s32_f32(x); }
    static F to_float(I x) { return vcvtq_f32_s32(x); }
    /// Returns 256·high + low, rounded once. A double holds the sum exactly.
    static F wide_to_float(I high, I low) {
        return vcvt_high_f32_f64(vcvt_f32_f64(wide(vget_low_s32(high), vget_low_s32(low))),
                                 wide(vget_high_s32(high), vget_high_s32(low)));
    }
    /// All bits set where a < b, signed.
    static I less(I a, I b) { return vreinterpretq_s32_u32(vcltq_s32(a, b)); }
    static bool any_less(I a, I b) { return vmaxvq_u32(vcltq_s32(a, b)) != 0; }
    static std::uint32_t reduce_max(I x) { return static_cast<std::uint32_t>(vmaxvq_s32(x)); }
    /// The epilogue of contract 1.
    static F finish(F x) {
        const I sign = broadcast(INT32_MIN);
        const I magnitude = vbicq_s32(bits(x), sign);
        const uint32x4_t tiny = vcltq_s32(magnitude, broadcast(0x00800000)),
                         nan = vcltq_s32(broadcast(0x7f800000), magnitude);
        const I flushed = vbslq_s32(tiny, bit_and(bits(x), sign), bits(x));
        return floats(vbslq_s32(nan, broadcast(0x7fc00000), flushed));
    }
    /// dst[c][r] = src[r][c] for 4×4 words; strides in words.
    static void transpose(const std::uint32_t* src, std::uint64_t src_stride, std::uint32_t* dst,
                          std::uint64_t dst_stride) {
        const I r0 = load(src), r1 = load(src + src_stride), r2 = load(src + 2 * src_stride),
                r3 = load(src + 3 * src_stride);
        const I even0 = vtrn1q_s32(r0, r1), odd0 = vtrn2q_s32(r0, r1), even1 = vtrn1q_s32(r2, r3),
                odd1 = vtrn2q_s32(r2, r3);
        store(dst, low_pairs(even0, even1));
        store(dst + dst_stride, low_pairs(odd0, odd1));
        store(dst + 2 * dst_stride, high_pairs(even0, even1));
        store(dst + 3 * dst_stride, high_pairs(odd0, odd1));
    }
    /// The low, or high, 64 bits of both.
    static I low_pairs(I a, I b) {
        return vreinterpretq_s32_s64(vtrn1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
    }
    static I high_pairs(I a, I b) {
        return vreinterpretq_s32_s64(vtrn2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
    }

    /// Byte `byte` of all lanes of d[0], d[1], d[2], d[3], in this order.
    template <int byte>
    static I bytes_along(const I d[4]) {
        const auto half = [](I x, I y) {
            const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(y);
            return vreinterpretq_s8_s16(byte < 2 ? vuzp1q_s16(a, b) : vuzp2q_s16(a, b));
        };
        const int8x16_t low = half(d[0], d[1]), high = half(d[2], d[3]);
        return vreinterpretq_s32_s8(byte % 2 == 0 ? vuzp1q_s8(low, high) : vuzp2q_s8(low, high));
    }
    /// In each lane, byte `byte` of that lane of d[0], d[1], d[2], d[3].
    template <int byte>
    static I bytes_across(const I d[4]) {
        const auto pair = [](I x, I y) {
            const int8x16_t a = vreinterpretq_s8_s32(x), b = vreinterpretq_s8_s32(y);
            return vreinterpretq_s16_s8(byte % 2 == 0 ? vtrn1q_s8(a, b) : vtrn2q_s8(a, b));
        };
        const int16x8_t low = pair(d[0], d[1]), high = pair(d[2], d[3]);
        return vreinterpretq_s32_s16(byte < 2 ? vtrn1q_s16(low, high) : vtrn2q_s16(low, high));
    }

private:
    static float64x2_t wide(int32x2_t high, int32x2_t low) {
        return vcvtq_f64_s64(vaddq_s64(vshll_n_s32(high, 8), vmovl_s32(low)));
    }
};

}  // namespace
}  // namespace retrace::kernels
