// SPDX-License-Identifier: MIT
// Slicing (contract 4.2): the digits and scales of the vectors of one operand, by kernels/matmul/slices.hpp.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kWarps = kThreads / 32;

struct Operand {
    const float* x;
    std::int8_t* digits;
    float* scales;
    std::uint64_t batch, vectors, k, padded, blocks;

    __device__ std::uint64_t plane() const { return batch * vectors * padded; }
};

/// Shared by all values of one vector's block.
struct Factor {
    std::int32_t exponent;
    bool finite;
};

template <std::uint32_t S>
__device__ Factor store_scale(const Operand& o, std::uint64_t matrix, std::uint64_t vector, std::uint64_t block,
                              std::uint32_t largest, bool writes) {
    if (writes) o.scales[(matrix * o.blocks + block) * o.vectors + vector] = slice_scale(S, largest);
    return Factor{slice_exponent(largest), largest < kInfinityBits};
}

template <std::uint32_t S>
__device__ Digits digits_of(float x, Factor factor) {
    return factor.finite ? slice_digits(S, x, factor.exponent) : Digits{};
}

/// Loads consecutive values from `k` on, zeros beyond K; in two loads if they are aligned.
__device__ void load_values(const Operand& o, std::uint64_t vector, std::uint64_t k, float (&x)[8]) {
    struct alignas(16) Four {
        float value[4];
    };
    const float* const from = o.x + vector * o.k + k;
    if (o.k % 4 == 0 && k + 8 <= o.k) {
        RETRACE_UNROLL
        for (std::uint32_t half = 0; half < 2; ++half) {
            const Four four = reinterpret_cast<const Four*>(from)[half];
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) x[4 * half + i] = four.value[i];
        }
        return;
    }
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) x[i] = k + i < o.k ? from[i] : 0.0f;
}

/// Contiguous vectors: a warp takes one block of one vector, a lane eight consecutive values.
template <std::uint32_t S>
__global__ void __launch_bounds__(kThreads) contiguous_kernel(Operand o, std::uint64_t total) {
    constexpr std::uint32_t kEach = 8;
    const std::uint64_t index = block_number() * kWarps + threadIdx.x / 32;
    if (index >= total) return;  // for the whole warp
    const std::uint64_t block = index % o.blocks, vector = index / o.blocks;
    const std::uint64_t k = block * kBlockK + threadIdx.x % 32 * kEach;
    float x[kEach];
    load_values(o, vector, k, x);
    std::uint32_t largest = 0;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t magnitude = to_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    for (std::uint32_t mask = 16; mask >= 1; mask /= 2) {
        const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, mask);
        largest = other > largest ? other : largest;
    }
    const Factor factor =
        store_scale<S>(o, vector / o.vectors, vector % o.vectors, block, largest, threadIdx.x % 32 == 0);
    if (k >= o.padded) return;
    std::uint32_t words[S][kEach / 4] = {};
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const Digits digits = digits_of<S>(x[i], factor);
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < S; ++t) {
            words[t][i / 4] |= static_cast<std::uint32_t>(digits.digit[t] & 0xff) << (8 * (i % 4));
        }
    }
    RETRACE_UNROLL
    for (std::uint32_t t = 0; t < S; ++t) {
        auto* const out = reinterpret_cast<std::uint32_t*>(o.digits + t * o.plane() + vector * o.padded + k);
        out[0] = words[t][0];
        out[1] = words[t][1];
    }
}

/// Strided vectors: a block takes 32 of them, adjacent in memory, and transposes their digits in shared memory.
template <std::uint32_t S>
__global__ void __launch_bounds__(kThreads) across_kernel(Operand o, std::uint64_t strips) {
    constexpr std::uint32_t kVectors = 32, kEach = kBlockK / kWarps, kRow = kBlockK + 16;
    struct Shared {
        std::int8_t digit[S][kVectors][kRow];
        std::uint32_t largest[kWarps][kVectors];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint64_t strip = block_number() % strips, block = block_number() / strips % o.blocks;
    const std::uint64_t matrix = block_number() / strips / o.blocks, vector = strip * kVectors + lane;
    if (matrix >= o.batch) return;
    float x[kEach];
    std::uint32_t largest = 0;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint64_t k = block * kBlockK + warp + kWarps * i;
        x[i] = k < o.k && vector < o.vectors ? o.x[(matrix * o.k + k) * o.vectors + vector] : 0.0f;
        const std::uint32_t magnitude = to_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    shared.largest[warp][lane] = largest;
    __syncthreads();
    RETRACE_UNROLL
    for (std::uint32_t w = 0; w < kWarps; ++w) {
        largest = shared.largest[w][lane] > largest ? shared.largest[w][lane] : largest;
    }
    const Factor factor = store_scale<S>(o, matrix, vector, block, largest, warp == 0 && vector < o.vectors);
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const Digits digits = digits_of<S>(x[i], factor);
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < S; ++t) shared.digit[t][lane][warp + kWarps * i] = digits.digit[t];
    }
    __syncthreads();
    constexpr std::uint32_t kChunks = kBlockK / 16;
    for (std::uint32_t i = threadIdx.x; i < S * kVectors * kChunks; i += kThreads) {
        const std::uint32_t t = i / (kVectors * kChunks), v = i / kChunks % kVectors, chunk = i % kChunks;
        const std::uint64_t k = block * kBlockK + chunk * 16, own = strip * kVectors + v;
        if (own >= o.vectors || k >= o.padded) continue;
        struct alignas(16) Bytes16 {
            std::int8_t byte[16];
        };
        *reinterpret_cast<Bytes16*>(o.digits + t * o.plane() + (matrix * o.vectors + own) * o.padded + k) =
            *reinterpret_cast<const Bytes16*>(&shared.digit[t][v][chunk * 16]);
    }
}

template <std::uint32_t S>
void slice_as(Stream stream, const Operand& o, bool across) {
    if (across) {
        const std::uint64_t strips = (o.vectors + 31) / 32;
        const std::uint32_t shared = S * 32 * (kBlockK + 16) + kWarps * 32 * 4;
        launch(stream, Grid{strips * o.blocks * o.batch, kThreads, shared}, across_kernel<S>, o, strips);
    } else {
        const std::uint64_t total = o.batch * o.vectors * o.blocks;
        launch(stream, Grid{(total + kWarps - 1) / kWarps, kThreads, 0}, contiguous_kernel<S>, o, total);
    }
}

}  // namespace

void slice_vectors(Stream stream, Precision precision, const float* x, bool across, std::uint64_t batch,
                   std::uint64_t vectors, std::uint64_t k, Slices out) {
    const Operand o{x, out.digits, out.scales, batch, vectors, k, padded_k(k), matmul_blocks(k)};
    switch (precision) {
        case Precision::i8x1: return slice_as<1>(stream, o, across);
        case Precision::i8x2: return slice_as<2>(stream, o, across);
        case Precision::i8x3: return slice_as<3>(stream, o, across);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
