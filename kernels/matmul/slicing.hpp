// SPDX-License-Identifier: MIT
// Slicing and the scales (contract 4.2, 4.4, whose symbols the comments use) on vectors, shared by word and byte
// kernels. L is a type of lanes (lanes_*.hpp). Included only by files compiled for one instruction set.
#pragma once

#include "kernels/matmul/engine.hpp"

namespace retrace::kernels {
namespace {

/// Copies vector `v` of a source along K and appends zeros up to a multiple of `multiple` values.
inline void copy_vector(const PackSource& source, std::uint32_t v, std::uint32_t multiple, float* out) {
    const float* const x = source.data + v * source.vector_stride;
    for (std::uint32_t k = 0; k < source.n; ++k) out[k] = x[k * source.k_stride];
    for (std::uint32_t k = source.n; k % multiple != 0; ++k) out[k] = 0.0f;
}

/// Copies a register of adjacent vectors from `first` on, of which some may be missing, to `out`, k after k; missing
/// vectors are zero.
template <class L>
void copy_across(const PackSource& source, std::uint32_t first, float* out) {
    const int there = first < source.vectors ? static_cast<int>(source.vectors - first) : 0;
    for (std::uint32_t k = 0; k < source.n; ++k) {
        L::store(out + k * L::width, L::load_some(source.data + k * source.k_stride + first, there));
    }
}

/// Returns the address of one vector: in place if its values are adjacent and fill whole registers, else in `copy`.
inline const float* vector_of(const PackSource& source, std::uint32_t v, std::uint32_t multiple, float* copy) {
    if (source.k_stride == 1 && source.n % multiple == 0) return source.data + v * source.vector_stride;
    copy_vector(source, v, multiple, copy);
    return copy;
}

// A vector with a NaN or an Inf gets arbitrary digits instead of the contract's zeros: its scale is NaN, and so is
// every product with it.

/// For one vector of `count` values along K (a multiple of the lanes), writes the scale and returns 2^(Q-E) in all
/// lanes.
template <class L, int S>
typename L::F factor_along(const float* x, std::uint32_t count, float* scale) {
    typename L::I largest = L::zero_words();
    const typename L::I magnitude = L::broadcast(INT32_MAX);
    for (std::uint32_t k = 0; k < count; k += L::width) {
        largest = L::max(largest, L::bit_and(L::bits(L::load(x + k)), magnitude));
    }
    const std::uint32_t most = L::reduce_max(largest);
    *scale = slice_scale(S, most);
    return L::broadcast(power_of_two(8 * S - 1 - (most < kInfinityBits ? slice_exponent(most) : 0)));
}

/// Distance of the prefetch in rows of memory, one for each k. Every row is on another page, across which the hardware
/// prefetcher does not go.
constexpr std::uint64_t kAheadRows = 16;

/// Computes m for `lanes` adjacent vectors (a multiple of the width), one lane each.
template <class L>
void largest_across(const float* x, std::uint64_t k_stride, std::uint32_t n, std::uint32_t lanes, std::uint32_t* out) {
    const typename L::I magnitude = L::broadcast(INT32_MAX);
    for (std::uint32_t v = 0; v < lanes; v += L::width) L::store(out + v, L::zero_words());
    for (std::uint32_t k = 0; k < n; k += 4) {
        const std::uint32_t rows = n - k < 4 ? n - k : 4;
        for (std::uint32_t v = 0; v < lanes; v += L::width) {
            typename L::I most = L::load(out + v);
            for (std::uint32_t i = 0; i < rows; ++i) {
                __builtin_prefetch(x + (k + i + kAheadRows) * k_stride + v);
                most = L::max(most, L::bit_and(L::bits(L::load(x + (k + i) * k_stride + v)), magnitude));
            }
            L::store(out + v, most);
        }
    }
}

/// For a register of vectors, given their largest magnitudes m, writes the scales and returns 2^(Q-E), one lane each.
template <class L, int S>
typename L::F factor_across(typename L::I most, float* scale) {
    const typename L::I field = L::template shift_right<23>(L::add(most, L::broadcast(0x00020000)));
    const typename L::I exponent = L::max(L::sub(field, L::broadcast(126)), L::broadcast(kExponentMin));
    const typename L::I finite = L::less(most, L::broadcast(static_cast<std::int32_t>(kInfinityBits)));
    const typename L::I power = L::add(exponent, L::broadcast(127 - 7 - 4 * (S - 1)));
    const typename L::I nan = L::sub(L::broadcast(static_cast<std::int32_t>(kNanBits)),
                                     L::bit_and(finite, L::broadcast(static_cast<std::int32_t>(kNanBits))));
    L::store(scale, L::floats(L::bit_or(nan, L::bit_and(finite, L::template shift_left<23>(power)))));
    const typename L::I shift = L::sub(L::broadcast(127 + 8 * S - 1), exponent);
    return L::floats(L::template shift_left<23>(shift));
}

/// Factors of adjacent vectors, computed once and read for every k.
template <class L, int S>
struct Factors {
    alignas(64) float factor[kPackColumns];

    void prepare(const float* x, std::uint64_t k_stride, std::uint32_t n, std::uint32_t lanes, float* scale) {
        alignas(64) std::uint32_t largest[kPackColumns];
        largest_across<L>(x, k_stride, n, lanes, largest);
        for (std::uint32_t v = 0; v < lanes; v += L::width) {
            L::store(factor + v, factor_across<L, S>(L::load(largest + v), scale + v));
        }
    }

    /// Returns q of the vectors from `v` on, whose values are at `x`.
    typename L::I quantise(const float* x, std::uint32_t v) const {
        return L::to_int(L::mul(L::load(x), L::load(factor + v)));
    }
};

/// Prefetches the tile's part of C while its sums are computed, because every row is on another page.
inline void fetch_c(const Tile& t, int rows) {
    for (int r = 0; r < rows; ++r) {
        const float* const c = t.c + static_cast<std::uint64_t>(r) * t.c_stride;
        __builtin_prefetch(c, 1);
        __builtin_prefetch(c + 16, 1);
    }
}

/// Returns the carried value of contract 4.4 and 4.5 (with the epilogue in the last block) for one register of columns
/// of one row; `value` is u, or the block's chain for f32.
template <class L, int S>
typename L::F carried_value(const Tile& t, int row, int part, typename L::F value, typename L::F before) {
    typename L::F carried;
    if constexpr (S == 0) {
        carried = t.first ? value : L::add(before, value);
    } else {
        const typename L::F v = L::mul(value, L::broadcast(t.scale_a[row]));
        carried = L::fma(v, L::load(t.scale_b + part * L::width), before);
    }
    return t.last ? L::finish(carried) : carried;
}

/// The same, reading from and writing to memory. At the right edge of C only existing lanes are accessed.
template <class L, int S>
void carry(const Tile& t, int row, int part, typename L::F value) {
    float* const c = t.c + static_cast<std::uint64_t>(row) * t.c_stride + part * L::width;
    const int lanes = static_cast<int>(t.columns) - part * L::width;
    if (lanes >= L::width) {
        L::store(c, carried_value<L, S>(t, row, part, value, t.first ? L::zero() : L::load(c)));
    } else if (lanes > 0) {
        const typename L::F before = t.first ? L::zero() : L::load_some(c, lanes);
        L::store_some(c, lanes, carried_value<L, S>(t, row, part, value, before));
    }
}

/// Whether the epilogue may change one of these values: one with a magnitude below 2^-126 (zeros included) or a NaN.
/// Few tiles have such values, and the epilogue takes six instructions per value.
template <class L, int R, int P>
[[gnu::always_inline]] inline bool wants_finish(typename L::F (&value)[R][P]) {
    // Without the sign, the bits of such values are one range modulo 2^32; it is moved to the top.
    const typename L::I move = L::broadcast(0x7f000000);
    typename L::I most = L::broadcast(INT32_MIN);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
            most = L::max(most, L::add(L::template shift_left<1>(L::bits(value[r][p])), move));
        }
    }
    return L::any_less(L::broadcast(0x7e000000), most);
}

/// `carry` for R rows and P registers of columns, all of which exist, without leaving the registers. Each step is done
/// for all values before the next, so that each condition is tested only once.
template <class L, int S, int R, int P>
[[gnu::always_inline]] inline void carry_whole(const Tile& t, typename L::F (&value)[R][P]) {
    using F = typename L::F;
    if constexpr (S != 0) {
        F scale[P];
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) scale[p] = L::load(t.scale_b + p * L::width);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const F scale_a = L::broadcast(t.scale_a[r]);
            const float* const c = t.c + static_cast<std::uint64_t>(r) * t.c_stride;
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) {
                const F before = t.first ? L::zero() : L::load(c + p * L::width);
                value[r][p] = L::fma(L::mul(value[r][p], scale_a), scale[p], before);
            }
        }
    } else if (!t.first) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const float* const c = t.c + static_cast<std::uint64_t>(r) * t.c_stride;
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) value[r][p] = L::add(L::load(c + p * L::width), value[r][p]);
        }
    }
    if (t.last && wants_finish<L, R, P>(value)) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
            for (int p = 0; p < P; ++p) value[r][p] = L::finish(value[r][p]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        float* const c = t.c + static_cast<std::uint64_t>(r) * t.c_stride;
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) L::store(c + p * L::width, value[r][p]);
    }
}

/// Computes a tile by Unit::tile<rows, registers of columns>, which has at most R rows.
template <class Unit, int R, int P>
void multiply_rows(const Tile& t) {
    if constexpr (R > 1) {
        if (t.rows != R) return multiply_rows<Unit, R - 1, P>(t);
    }
    Unit::template tile<R, P>(t);
}

/// The same for a panel of P registers of columns, of which a narrow tile has the first half.
template <class Unit, int R, int P>
void multiply_panel(const Tile& t) {
    if (t.narrow)
        multiply_rows<Unit, R, P / 2>(t);
    else
        multiply_rows<Unit, R, P>(t);
}

/// Carries a tile's values into C.
template <class L, int S, int R, int P>
[[gnu::always_inline]] inline void carry_tile(const Tile& t, typename L::F (&value)[R][P]) {
    if (t.columns >= static_cast<std::uint32_t>(P * L::width)) return carry_whole<L, S, R, P>(t, value);
    typename L::F copy[R][P];  // A call takes the copy's address, so that `value` stays in registers.
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) copy[r][p] = value[r][p];
    }
#pragma GCC unroll 1
    for (int r = 0; r < R; ++r) {
        for (int p = 0; p < P; ++p) carry<L, S>(t, r, p, copy[r][p]);
    }
}

}  // namespace
}  // namespace retrace::kernels
