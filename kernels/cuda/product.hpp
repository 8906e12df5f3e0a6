// SPDX-License-Identifier: MIT
// Shared by the kernels for products of sliced operands (contract 4.3, 4.4).
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/digits.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/tile_order.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels::cuda {

struct Product {
    Slices a, b;
    float* c;
    std::uint64_t m, n, chunks, blocks;  ///< Chunks of 64 and blocks of 256 digits of K.
    DigitOrder order_a, order_b;
    std::uint64_t tiles_m, tiles_n, tiles;  ///< Tiles per matrix; `tiles` is the total over all matrices.
};

/// Returns u = fp32(T) of contract 4.3 and 4.4: the sums S_0, S_1 and the last one combined and rounded once. With three
/// sums T = S_0 · 2^16 + S_1 · 2^8 + S_2 needs more than 32 bits. First digits are at most 127, so S_1 · 2^8 + S_2 fits
/// into 32; its upper half is added to S_0, both parts are exact in fp32, and the fma rounds their sum.
template <std::uint32_t S>
__device__ float combined_sums(std::int32_t first, std::int32_t second, std::int32_t last) {
    if constexpr (S == 1) {
        return static_cast<float>(first);
    } else if constexpr (S == 2) {
        return static_cast<float>(first * 256 + second);
    } else {
        const std::int32_t low = second * 256 + last;
        return fma32(static_cast<float>(first + (low >> 16)), 65536.0f, static_cast<float>(low & 0xffff));
    }
}

/// Returns the scale that this thread loads for a tile of kM rows and kN columns from (row, col) on: rows of A first,
/// then columns of B. Beyond the matrix, it is that of the last vector.
template <std::uint32_t kM, std::uint32_t kN>
__device__ float own_scale(const Product& p, std::uint64_t matrix, std::uint64_t row, std::uint64_t col,
                           std::uint64_t block) {
    const std::uint32_t t = threadIdx.x;
    if (block >= p.blocks || t >= kM + kN) return 0.0f;
    if (t < kM) {
        return p.a.scales[p.order_a.scale(matrix, p.blocks, block, smaller<std::uint64_t>(row + t, p.m - 1))];
    }
    return p.b.scales[p.order_b.scale(matrix, p.blocks, block, smaller<std::uint64_t>(col + t - kM, p.n - 1))];
}

/// Computes products by warpgroup instructions (product_hopper.cu); compute capability 9.0 only.
void multiply_slices_hopper(Stream stream, Precision precision, const Product& product, std::uint64_t batch,
                            std::uint32_t multiprocessors);

}  // namespace retrace::kernels::cuda
