// SPDX-License-Identifier: MIT
// The bodies of the inner loops, included by one file per instruction set. Everything has internal linkage.
#pragma once

#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/functions.hpp"
#include "kernels/ops/places.hpp"
#include "kernels/reduce/reduce.hpp"

// The output may be the same memory as an operand, element for element; the compiler's overlap test would then not use
// the vector loop.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // a hint that clang cannot follow is no error
#define RETRACE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RETRACE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace retrace::kernels {
namespace {

template <class In, class Out, class F>
void map1(const LoopOperand* in, void* out, std::size_t n, F f) {
    const In* a = static_cast<const In*>(in[0].data);
    Out* o = static_cast<Out*>(out);
    if (in[0].moves) {
        RETRACE_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) o[i] = f(a[i]);
        return;
    }
    const Out value = n == 0 ? Out{} : f(a[0]);
    for (std::size_t i = 0; i < n; ++i) o[i] = value;
}

template <class A, class B, class Out, class F>
void map2(const LoopOperand* in, void* out, std::size_t n, F f) {
    const A* a = static_cast<const A*>(in[0].data);
    const B* b = static_cast<const B*>(in[1].data);
    Out* o = static_cast<Out*>(out);
    if (n == 0) return;
    const A a0 = a[0];
    const B b0 = b[0];
    if (in[0].moves && in[1].moves) {
        RETRACE_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
    } else if (in[0].moves) {
        RETRACE_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) o[i] = f(a[i], b0);
    } else if (in[1].moves) {
        RETRACE_INDEPENDENT
        for (std::size_t i = 0; i < n; ++i) o[i] = f(a0, b[i]);
    } else {
        const Out value = f(a0, b0);
        for (std::size_t i = 0; i < n; ++i) o[i] = value;
    }
}

template <bool MoveA, bool MoveB, bool MoveC, class A, class T, class F>
void map3_as(const A* a, const T* b, const T* c, T* o, std::size_t n, F f) {
    const A a0 = a[0];
    const T b0 = b[0], c0 = c[0];
    RETRACE_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) o[i] = f(MoveA ? a[i] : a0, MoveB ? b[i] : b0, MoveC ? c[i] : c0);
}

template <class A, class T, class F>
void map3(const LoopOperand* in, void* out, std::size_t n, F f) {
    const A* a = static_cast<const A*>(in[0].data);
    const T* b = static_cast<const T*>(in[1].data);
    const T* c = static_cast<const T*>(in[2].data);
    T* o = static_cast<T*>(out);
    if (n == 0) return;
    switch ((in[0].moves ? 4 : 0) + (in[1].moves ? 2 : 0) + (in[2].moves ? 1 : 0)) {
        case 0: return map3_as<false, false, false>(a, b, c, o, n, f);
        case 1: return map3_as<false, false, true>(a, b, c, o, n, f);
        case 2: return map3_as<false, true, false>(a, b, c, o, n, f);
        case 3: return map3_as<false, true, true>(a, b, c, o, n, f);
        case 4: return map3_as<true, false, false>(a, b, c, o, n, f);
        case 5: return map3_as<true, false, true>(a, b, c, o, n, f);
        case 6: return map3_as<true, true, false>(a, b, c, o, n, f);
        default: return map3_as<true, true, true>(a, b, c, o, n, f);
    }
}

template <OpCode code>
void unary_loop(const LoopOperand* in, void* out, std::size_t n) {
    map1<float, float>(in, out, n, [](float x) { return apply_unary<code>(x); });
}

template <OpCode code>
void binary_loop(const LoopOperand* in, void* out, std::size_t n) {
    map2<float, float, float>(in, out, n, [](float a, float b) { return apply_binary<code>(a, b); });
}

template <OpCode code>
void words_loop(const LoopOperand* in, void* out, std::size_t n) {
    using Word = std::uint32_t;
    map2<Word, Word, Word>(in, out, n, [](Word a, Word b) { return apply_words<code>(a, b); });
}

template <OpCode code, class T>
void compare_loop(const LoopOperand* in, void* out, std::size_t n) {
    map2<T, T, std::uint8_t>(in, out, n, [](T a, T b) -> std::uint8_t { return apply_compare<code>(a, b) ? 1 : 0; });
}

template <class T>
void select_loop(const LoopOperand* in, void* out, std::size_t n) {
    map3<std::uint8_t, T>(in, out, n, [](std::uint8_t chosen, T a, T b) { return chosen != 0 ? a : b; });
}

template <class In, class Out>
void convert_loop(const LoopOperand* in, void* out, std::size_t n) {
    map1<In, Out>(in, out, n, [](In x) { return static_cast<Out>(x); });
}

void convert_to_int_loop(const LoopOperand* in, void* out, std::size_t n) {
    map1<float, std::int32_t>(in, out, n, [](float x) { return to_int32(x); });
}

void fma_loop(const LoopOperand* in, void* out, std::size_t n) {
    map3<float, float>(in, out, n, [](float a, float b, float c) { return apply_fma(a, b, c); });
}

void powi_loop(const LoopOperand* in, void* out, std::size_t n) {
    map2<float, std::int32_t, float>(in, out, n, [](float x, std::int32_t e) { return apply_powi(x, e); });
}

using Byte = std::uint8_t;
void and_loop(const LoopOperand* in, void* out, std::size_t n) {
    map2<Byte, Byte, Byte>(in, out, n, [](Byte a, Byte b) { return static_cast<Byte>(a & b); });
}
void or_loop(const LoopOperand* in, void* out, std::size_t n) {
    map2<Byte, Byte, Byte>(in, out, n, [](Byte a, Byte b) { return static_cast<Byte>(a | b); });
}
void not_loop(const LoopOperand* in, void* out, std::size_t n) {
    map1<Byte, Byte>(in, out, n, [](Byte a) { return static_cast<Byte>(a ^ 1); });
}

template <OpCode code>
ElementLoop compare_of(DType in) {
    return in == DType::i32 ? compare_loop<code, std::int32_t> : compare_loop<code, float>;
}

ElementLoop convert_of(DType in, DType out) {
    if (in == DType::f32) return convert_to_int_loop;
    const bool to_float = out == DType::f32;
    if (in == DType::i32) return convert_loop<std::int32_t, float>;
    if (in == DType::i8) return to_float ? convert_loop<std::int8_t, float> : convert_loop<std::int8_t, std::int32_t>;
    return to_float ? convert_loop<Byte, float> : convert_loop<Byte, std::int32_t>;
}

ElementLoop element_loop(OpCode code, DType in, DType out) {
    switch (code) {
        case OpCode::neg: return unary_loop<OpCode::neg>;
        case OpCode::abs: return unary_loop<OpCode::abs>;
        case OpCode::exp: return unary_loop<OpCode::exp>;
        case OpCode::log: return unary_loop<OpCode::log>;
        case OpCode::tanh: return unary_loop<OpCode::tanh>;
        case OpCode::sigmoid: return unary_loop<OpCode::sigmoid>;
        case OpCode::erf: return unary_loop<OpCode::erf>;
        case OpCode::sqrt: return unary_loop<OpCode::sqrt>;
        case OpCode::rsqrt: return unary_loop<OpCode::rsqrt>;
        case OpCode::relu: return unary_loop<OpCode::relu>;
        case OpCode::sin_turns: return unary_loop<OpCode::sin_turns>;
        case OpCode::cos_turns: return unary_loop<OpCode::cos_turns>;
        case OpCode::convert: return convert_of(in, out);
        case OpCode::add: return binary_loop<OpCode::add>;
        case OpCode::sub: return binary_loop<OpCode::sub>;
        case OpCode::mul: return binary_loop<OpCode::mul>;
        case OpCode::div: return binary_loop<OpCode::div>;
        case OpCode::max: return binary_loop<OpCode::max>;
        case OpCode::min: return binary_loop<OpCode::min>;
        case OpCode::pow: return binary_loop<OpCode::pow>;
        case OpCode::powi: return powi_loop;
        case OpCode::fma: return fma_loop;
        case OpCode::add_wrap: return words_loop<OpCode::add_wrap>;
        case OpCode::sub_wrap: return words_loop<OpCode::sub_wrap>;
        case OpCode::and_bits: return words_loop<OpCode::and_bits>;
        case OpCode::equal: return compare_of<OpCode::equal>(in);
        case OpCode::less: return compare_of<OpCode::less>(in);
        case OpCode::less_equal: return compare_of<OpCode::less_equal>(in);
        case OpCode::greater: return compare_of<OpCode::greater>(in);
        case OpCode::greater_equal: return compare_of<OpCode::greater_equal>(in);
        case OpCode::logical_and: return and_loop;
        case OpCode::logical_or: return or_loop;
        case OpCode::logical_not: return not_loop;
        case OpCode::select:
            return out == DType::f32 || out == DType::i32 ? select_loop<std::uint32_t> : select_loop<Byte>;
        default: return nullptr;
    }
}

// Missing terms are +0 and a lane is never -0, so omitting them changes no bit.
float row_sum_loop(const float* x, std::size_t n) {
    float lane[kReduceLanes] = {};
    std::size_t k = 0;
    for (; k + kReduceLanes <= n; k += kReduceLanes) {
        for (std::uint32_t l = 0; l < kReduceLanes; ++l) lane[l] += x[k + l];
    }
    for (std::uint32_t l = 0; k + l < n; ++l) lane[l] += x[k + l];
    for (std::uint32_t h = kReduceLanes / 2; h >= 1; h /= 2) {
        for (std::uint32_t l = 0; l < h; ++l) lane[l] += lane[l + h];
    }
    return finish(lane[0]);
}

// Returns integers in the order of the values: -0 below +0, every NaN above all else, as in max32 and argmax_replaces.
// The maximum of integers is one instruction.
std::int32_t order_key(float x) {
    const auto bits = static_cast<std::int32_t>(to_bits(x));
    return is_nan(x) ? INT32_MAX : bits ^ ((bits >> 31) & INT32_MAX);
}

// The inverse; INT32_MAX becomes a NaN, which the epilogue replaces by the canonical one.
float of_order_key(std::int32_t key) { return from_bits(static_cast<std::uint32_t>(key ^ ((key >> 31) & INT32_MAX))); }

// The maximum does not depend on the order. Without the NaN test of order_key the loop can be vectorised: a NaN is then
// above +Inf or, if negative, below -Inf.
float row_max_loop(const float* x, std::size_t n) {
    constexpr std::int32_t kMost = kInfinityBits, kLeast = kMost ^ -1;
    std::int32_t best = kLeast, least = kMost;
    for (std::size_t k = 0; k < n; ++k) {
        const auto bits = static_cast<std::int32_t>(to_bits(x[k]));
        const std::int32_t key = bits ^ ((bits >> 31) & INT32_MAX);
        best = key > best ? key : best;
        least = key < least ? key : least;
    }
    return best > kMost || least < kLeast ? from_bits(kNanBits) : finish(of_order_key(best));
}

template <std::size_t N>
void narrow_max(const float* x, std::size_t rows, float* out) {
    RETRACE_INDEPENDENT
    for (std::size_t r = 0; r < rows; ++r) {
        std::int32_t best = order_key(x[r * N]);
        for (std::size_t k = 1; k < N; ++k) {
            const std::int32_t key = order_key(x[r * N + k]);
            best = key > best ? key : best;
        }
        out[r] = finish(of_order_key(best));
    }
}

// Rows of pooling windows are so short that the loop over the rows must be the vectorised one.
void rows_max_loop(const float* x, std::size_t rows, std::size_t cols, float* out) {
    switch (cols) {
        case 2: return narrow_max<2>(x, rows, out);
        case 4: return narrow_max<4>(x, rows, out);
        case 9: return narrow_max<9>(x, rows, out);
        default:
            for (std::size_t r = 0; r < rows; ++r) out[r] = row_max_loop(x + r * cols, cols);
    }
}

template <std::size_t N>
void narrow_argmax(const float* x, std::size_t rows, std::int32_t* out) {
    RETRACE_INDEPENDENT
    for (std::size_t r = 0; r < rows; ++r) {
        std::int32_t best = order_key(x[r * N]), at = 0;
        for (std::size_t k = 1; k < N; ++k) {
            const std::int32_t key = order_key(x[r * N + k]);
            at = key > best ? static_cast<std::int32_t>(k) : at;
            best = key > best ? key : best;
        }
        out[r] = at;
    }
}

void rows_argmax_loop(const float* x, std::size_t rows, std::size_t cols, std::int32_t* out) {
    if (cols == 4) return narrow_argmax<4>(x, rows, out);
    if (cols == 9) return narrow_argmax<9>(x, rows, out);
    for (std::size_t r = 0; r < rows; ++r) {
        std::int32_t best = order_key(x[r * cols]);
        out[r] = 0;
        for (std::size_t k = 1; k < cols; ++k) {
            const std::int32_t key = order_key(x[r * cols + k]);
            if (key > best) best = key, out[r] = static_cast<std::int32_t>(k);
        }
    }
}

/// Returns the `count`-th greatest key, bit by bit: loops over the row without branches take less time than a sort.
std::int32_t least_of_top(const std::int32_t* keys, std::size_t cols, std::int32_t count) {
    std::int32_t least = 0;
    for (std::int32_t bit = 1 << 30; bit != 0; bit >>= 1) {
        const std::int32_t candidate = least | bit;
        std::int32_t below = 0;
        for (std::size_t i = 0; i < cols; ++i) below += keys[i] < candidate ? 1 : 0;
        if (static_cast<std::int32_t>(cols) - below >= count) least = candidate;
    }
    return least;
}

void row_top_loop(const std::uint32_t* x, std::size_t cols, std::size_t count, std::int32_t* out) {
    std::int32_t keys[kTopColumnsMax];
    for (std::size_t i = 0; i < cols; ++i) keys[i] = static_cast<std::int32_t>(magnitude_key(x[i]));
    const std::int32_t least = least_of_top(keys, cols, static_cast<std::int32_t>(count));
    std::size_t equal = count;  // Of those that equal the least, the first so many are taken.
    for (std::size_t i = 0; i < cols; ++i) equal -= keys[i] > least ? 1 : 0;
    for (std::size_t i = 0; i < cols; ++i) {
        if (keys[i] < least || (keys[i] == least && equal == 0)) continue;
        if (keys[i] == least) --equal;
        *out++ = static_cast<std::int32_t>(i);
    }
}

constexpr std::size_t kStrip = 64;  // columns whose lanes stay in the first-level cache

void col_sum_strip(const float* x, std::size_t stride, std::size_t n, std::size_t cols, float* out) {
    float lane[kReduceLanes][kStrip] = {};
    for (std::size_t r = 0; r < n; ++r) {
        float* sum = lane[r % kReduceLanes];
        for (std::size_t c = 0; c < cols; ++c) sum[c] += x[r * stride + c];
    }
    for (std::uint32_t h = kReduceLanes / 2; h >= 1; h /= 2) {
        for (std::uint32_t l = 0; l < h; ++l) {
            for (std::size_t c = 0; c < kStrip; ++c) lane[l][c] += lane[l + h][c];
        }
    }
    for (std::size_t c = 0; c < cols; ++c) out[c] = finish(lane[0][c]);
}

void col_sum_loop(const float* x, std::size_t stride, std::size_t n, std::size_t cols, float* out) {
    for (std::size_t c = 0; c < cols; c += kStrip) {
        col_sum_strip(x + c, stride, n, cols - c < kStrip ? cols - c : kStrip, out + c);
    }
}

void col_max_loop(const float* x, std::size_t stride, std::size_t n, std::size_t cols, float* out) {
    for (std::size_t c = 0; c < cols; ++c) out[c] = from_bits(kInfinityBits | kSignBit);
    for (std::size_t r = 0; r < n; ++r) {
        RETRACE_INDEPENDENT
        for (std::size_t c = 0; c < cols; ++c) out[c] = max32(out[c], x[r * stride + c]);
    }
    for (std::size_t c = 0; c < cols; ++c) out[c] = finish(out[c]);
}

void accumulate_loop(float* carried, const float* x, std::size_t n) {
    RETRACE_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) carried[i] += x[i];
}

void finish_loop(float* x, std::size_t n) {
    RETRACE_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) x[i] = finish(x[i]);
}

constexpr Loops kLoops = {element_loop, row_sum_loop, row_max_loop, rows_max_loop,   rows_argmax_loop,
                          row_top_loop, col_sum_loop, col_max_loop, accumulate_loop, finish_loop};

}  // namespace
}  // namespace retrace::kernels
