// SPDX-License-Identifier: MIT
// Slicing (contract 4.2): the digits and scales of the vectors of one operand, by kernels/matmul/slices.hpp.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/digits.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kWarps = kThreads / 32;

struct Operand {
    const float* x;
    std::int8_t* digits;
    float* scales;
    std::uint64_t batch, vectors, k, blocks;
    DigitOrder order;
};

/// Shared by all values of one vector's block.
struct Factor {
    std::int32_t exponent;
    bool finite;
};

template <std::uint32_t S>
__device__ Factor store_scale(const Operand& o, std::uint64_t matrix, std::uint64_t vector, std::uint64_t block,
                              std::uint32_t largest, bool writes) {
    if (writes) o.scales[o.order.scale(matrix, o.blocks, block, vector)] = slice_scale(S, largest);
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

/// Contiguous vectors: `kLanes` lanes take one block of one vector, eight consecutive values each, and a warp as many
/// neighbouring vectors as it has room for. kLanes · 8 values hold the vector, or kLanes is 32.
template <std::uint32_t S, std::uint32_t kLanes>
__global__ void __launch_bounds__(kThreads) contiguous_kernel(Operand o, std::uint64_t total) {
    constexpr std::uint32_t kEach = 8;
    const std::uint64_t padded = o.order.groups * kUnitVectors;  // so that a group's vectors are sliced side by side
    const std::uint64_t index = block_number() * (kThreads / kLanes) + threadIdx.x / kLanes;
    const std::uint32_t lane = threadIdx.x % kLanes;
    const std::uint64_t row = index / (kUnitVectors * o.blocks) * kUnitVectors + index % kUnitVectors;
    const std::uint64_t block = index / kUnitVectors % o.blocks, matrix = row / padded, vector = row % padded;
    const bool real = index < total && vector < o.vectors;
    const std::uint64_t k = block * kBlockK + lane * kEach;
    float x[kEach] = {};
    if (real) load_values(o, matrix * o.vectors + vector, k, x);
    std::uint32_t largest = 0;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t magnitude = to_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    for (std::uint32_t mask = kLanes / 2; mask >= 1; mask /= 2) {
        const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, mask);
        largest = other > largest ? other : largest;
    }
    if (!real) return;
    const Factor factor = store_scale<S>(o, matrix, vector, block, largest, lane == 0);
    if (k >= o.order.chunks * kUnitK) return;
    std::uint32_t words[S][kEach / 4] = {};
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach; ++i) {
        const Digits digits = digits_of<S>(x[i], factor);
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < S; ++t) {
            words[t][i / 4] |= static_cast<std::uint32_t>(digits.digit[t] & 0xff) << (8 * (i % 4));
        }
    }
    const std::uint64_t at = o.order.unit(matrix, k / kUnitK, vector / kUnitVectors) +
                             piece_offset(static_cast<std::uint32_t>(vector % kUnitVectors),
                                          static_cast<std::uint32_t>(k % kUnitK) / kPiece) +
                             k % kPiece;
    RETRACE_UNROLL
    for (std::uint32_t t = 0; t < S; ++t) {
        auto* const out = reinterpret_cast<std::uint32_t*>(o.digits + t * o.order.plane + at);
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
    // Threads that follow each other write pieces of vectors that follow each other: whole units.
    constexpr std::uint32_t kPieces = kUnitK / kPiece;
    for (std::uint32_t i = threadIdx.x; i < S * kVectors * (kBlockK / kPiece); i += kThreads) {
        const std::uint32_t piece = i % kPieces, v = i / kPieces % kVectors;
        const std::uint32_t chunk = i / (kPieces * kVectors) % (kBlockK / kUnitK),
                            t = i / (kVectors * kBlockK / kPiece);
        const std::uint64_t own = strip * kVectors + v, chunk_of_all = block * (kBlockK / kUnitK) + chunk;
        if (own >= o.vectors || chunk_of_all >= o.order.chunks) continue;
        struct alignas(16) Bytes16 {
            std::int8_t byte[16];
        };
        const std::uint64_t at =
            o.order.unit(matrix, chunk_of_all, own / kUnitVectors) + piece_offset(v % kUnitVectors, piece);
        *reinterpret_cast<Bytes16*>(o.digits + t * o.order.plane + at) =
            *reinterpret_cast<const Bytes16*>(&shared.digit[t][v][chunk * kUnitK + piece * kPiece]);
    }
}

template <std::uint32_t S, std::uint32_t kLanes>
void slice_contiguous(Stream stream, const Operand& o) {
    const std::uint64_t total = o.batch * o.order.groups * kUnitVectors * o.blocks;
    constexpr std::uint64_t kAtOnce = kThreads / kLanes;
    launch(stream, Grid{(total + kAtOnce - 1) / kAtOnce, kThreads, 0}, contiguous_kernel<S, kLanes>, o, total);
}

template <std::uint32_t S>
void slice_as(Stream stream, const Operand& o, bool across) {
    if (across) {
        const std::uint64_t strips = (o.vectors + 31) / 32;
        const std::uint32_t shared = S * 32 * (kBlockK + 16) + kWarps * 32 * 4;
        launch(stream, Grid{strips * o.blocks * o.batch, kThreads, shared}, across_kernel<S>, o, strips);
    } else if (o.k <= kUnitK) {
        slice_contiguous<S, 8>(stream, o);
    } else {
        slice_contiguous<S, 32>(stream, o);
    }
}

}  // namespace

void slice_vectors(Stream stream, Precision precision, const float* x, bool across, std::uint64_t batch,
                   std::uint64_t vectors, std::uint64_t k, Slices out) {
    const Operand o{x, out.digits, out.scales, batch, vectors, k, matmul_blocks(k), DigitOrder::of(batch, vectors, k)};
    switch (precision) {
        case Precision::i8x1: return slice_as<1>(stream, o, across);
        case Precision::i8x2: return slice_as<2>(stream, o, across);
        case Precision::i8x3: return slice_as<3>(stream, o, across);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
