// SPDX-License-Identifier: MIT
// One level of a reduction (contract 5) by sixteen threads, which are the lanes of the contract. All threads of a warp
// call these functions together; the first of each sixteen gets the result.
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels::cuda {

inline constexpr std::uint32_t kLanes = kReduceLanes;
inline constexpr std::uint64_t kTerms = kReduceTerms;

template <Reduction kind>
__device__ float start() {
    return kind == Reduction::sum ? 0.0f : from_bits(kInfinityBits | kSignBit);
}

template <Reduction kind>
__device__ float join(float a, float b) {
    return kind == Reduction::sum ? a + b : max32(a, b);
}

/// Reduces `count` terms from x on (possibly 0); the result has not had the epilogue.
template <Reduction kind>
__device__ float reduce_lanes(const float* x, std::uint64_t count) {
    float value = start<kind>();
    if (count == kTerms) {  // the loads do not wait for each other
        float terms[kTerms / kLanes];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kTerms / kLanes; ++i) terms[i] = x[threadIdx.x % kLanes + i * kLanes];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kTerms / kLanes; ++i) value = join<kind>(value, terms[i]);
    } else {
        for (std::uint64_t k = threadIdx.x % kLanes; k < count; k += kLanes) value = join<kind>(value, x[k]);
    }
    for (std::uint32_t h = kLanes / 2; h >= 1; h /= 2) {
        value = join<kind>(value, __shfl_down_sync(kAllLanes, value, h, kLanes));
    }
    return value;
}

inline constexpr std::uint32_t kNone = 0xffffffffu;

/// A term and its position `at`; `at` is kNone if there is no term. `greater` returns the greater of two terms, the
/// earlier of equals.
struct Best {
    float value;
    std::uint32_t at;
};

__device__ inline Best greater(Best a, Best b) {
    if (b.at == kNone) return a;
    if (a.at == kNone) return b;
    const Best early = a.at < b.at ? a : b, late = a.at < b.at ? b : a;
    return argmax_replaces(late.value, early.value) ? late : early;
}

/// Returns the position of the first greatest of `count` terms, kNone if there are none.
__device__ inline std::uint32_t argmax_lanes(const float* x, std::uint64_t count) {
    Best best{0.0f, kNone};
    for (std::uint32_t k = threadIdx.x % kLanes; k < count; k += kLanes) best = greater(best, Best{x[k], k});
    for (std::uint32_t h = kLanes / 2; h >= 1; h /= 2) {
        Best other;
        other.value = __shfl_down_sync(kAllLanes, best.value, h, kLanes);
        other.at = __shfl_down_sync(kAllLanes, best.at, h, kLanes);
        best = greater(best, other);
    }
    return best.at;
}

}  // namespace retrace::kernels::cuda
