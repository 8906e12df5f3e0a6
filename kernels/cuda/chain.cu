// SPDX-License-Identifier: MIT
// Products as chains of fma (contract 4.5): 16×16 threads, each with a square of elements whose chains run in the
// contract's order over tiles of K in shared memory.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kSide = 16, kDepth = 16, kChunk = 256;
static_assert(kSide * kSide == kThreads && kChunk % kDepth == 0, "");

/// A matrix whose vectors along K are rows: element (v, k) at data[v · vector_stride + k · k_stride].
struct Operand {
    const float* data;
    std::uint64_t vectors, vector_stride, k_stride;
};

template <std::uint32_t kTile>
__device__ void fetch(const Operand& o, std::uint64_t first, std::uint64_t k, std::uint32_t depth,
                      float (&to)[kDepth][kTile + 4]) {
    for (std::uint32_t i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
        // Neighbouring threads read neighbouring addresses, in both layouts of the matrix.
        const std::uint32_t v = o.k_stride == 1 ? i / kDepth : i % kTile;
        const std::uint32_t at = o.k_stride == 1 ? i % kDepth : i / kTile;
        const std::uint64_t vector = smaller<std::uint64_t>(first + v, o.vectors - 1);
        if (at < depth) to[at][v] = o.data[vector * o.vector_stride + (k + at) * o.k_stride];
    }
}

template <std::uint32_t kEach>
__global__ void __launch_bounds__(kThreads)
    chain_kernel(Operand a, Operand b, float* c, std::uint64_t k_total, std::uint64_t tiles_m, std::uint64_t tiles_n,
                 std::uint64_t tiles) {
    constexpr std::uint32_t kTile = kSide * kEach;
    struct Shared {
        float a[kDepth][kTile + 4], b[kDepth][kTile + 4];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint64_t tile = block_number();
    if (tile >= tiles) return;
    const std::uint64_t matrix = tile / (tiles_m * tiles_n);
    const std::uint64_t row = tile % tiles_m * kTile, col = tile / tiles_m % tiles_n * kTile;
    const std::uint32_t ty = threadIdx.x / kSide, tx = threadIdx.x % kSide;
    a.data += matrix * a.vectors * k_total;
    b.data += matrix * b.vectors * k_total;
    c += matrix * a.vectors * b.vectors;
    float carried[kEach][kEach], chain[kEach][kEach];
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach * kEach; ++i) {
        carried[i / kEach][i % kEach] = -0.0f;  // -0 + a is a for either zero
        chain[i / kEach][i % kEach] = 0.0f;
    }
    for (std::uint64_t k = 0; k < k_total; k += kDepth) {
        // The chain must not go beyond K, because fma(+0, +0, -0) would turn a -0 into +0.
        const std::uint32_t depth = static_cast<std::uint32_t>(smaller<std::uint64_t>(kDepth, k_total - k));
        __syncthreads();
        fetch<kTile>(a, row, k, depth, shared.a);
        fetch<kTile>(b, col, k, depth, shared.b);
        __syncthreads();
        for (std::uint32_t d = 0; d < depth; ++d) {
            float x[kEach], y[kEach];
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < kEach; ++i)
                x[i] = shared.a[d][ty * kEach + i], y[i] = shared.b[d][tx + i * kSide];
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < kEach * kEach; ++i) {
                chain[i / kEach][i % kEach] = fma32(x[i / kEach], y[i % kEach], chain[i / kEach][i % kEach]);
            }
        }
        if ((k + kDepth) % kChunk != 0 && k + kDepth < k_total) continue;
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kEach * kEach; ++i) {
            carried[i / kEach][i % kEach] = carried[i / kEach][i % kEach] + chain[i / kEach][i % kEach];
            chain[i / kEach][i % kEach] = 0.0f;
        }
    }
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kEach * kEach; ++i) {
        const std::uint64_t y = row + ty * kEach + i / kEach, x = col + tx + i % kEach * kSide;
        if (y < a.vectors && x < b.vectors) c[y * b.vectors + x] = finish(carried[i / kEach][i % kEach]);
    }
}

template <std::uint32_t kEach>
void multiply_as(Stream stream, const Operand& a, const Operand& b, float* c, std::uint64_t batch, std::uint64_t k) {
    constexpr std::uint32_t kTile = kSide * kEach;
    const std::uint64_t tiles_m = (a.vectors + kTile - 1) / kTile, tiles_n = (b.vectors + kTile - 1) / kTile;
    const std::uint64_t tiles = batch * tiles_m * tiles_n;
    launch(stream, Grid{tiles, kThreads, 2 * kDepth * (kTile + 4) * 4}, chain_kernel<kEach>, a, b, c, k, tiles_m,
           tiles_n, tiles);
}

}  // namespace

void multiply_chains(Stream stream, const float* a, bool transposed_a, const float* b, bool transposed_b, float* c,
                     std::uint64_t batch, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    const Operand rows{a, m, transposed_a ? 1 : k, transposed_a ? m : 1};
    const Operand columns{b, n, transposed_b ? k : 1, transposed_b ? 1 : n};
    if (m >= 128 && n >= 128) return multiply_as<8>(stream, rows, columns, c, batch, k);
    multiply_as<4>(stream, rows, columns, c, batch, k);
}

}  // namespace retrace::kernels::cuda
