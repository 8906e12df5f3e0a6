// SPDX-License-Identifier: MIT
// What the kernels for products of sliced operands share (contract 4.3, 4.4).
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/tile_order.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels::cuda {

struct Product {
    Slices a, b;
    float* c;
    std::uint64_t m, n, padded, blocks;
    std::uint64_t plane_a, plane_b;  ///< Bytes of one digit's plane.
    std::uint64_t tiles_m, tiles_n, tiles;  ///< The last of all matrices.
};

/// Lines 11 to 13's u: the sums S_0, S_1 and the last one combined and rounded once.
template <std::uint32_t S>
__device__ float combined_sums(std::int32_t first, std::int32_t second, std::int32_t last) {
    if constexpr (S == 1) {
        return static_cast<float>(first);
    } else if constexpr (S == 2) {
        return static_cast<float>(first * 256 + second);
    } else {
        const std::int32_t high = first * 256 + second;  // fits
        return static_cast<float>(static_cast<std::int64_t>(high) * 256 + last);
    }
}

/// The scale that this thread looks after for a tile of kM rows and kN columns from (row, col) on: rows of A
/// first, then columns of B. Beyond the matrix, that of its last vector.
template <std::uint32_t kM, std::uint32_t kN>
__device__ float own_scale(const Product& p, std::uint64_t matrix, std::uint64_t row, std::uint64_t col,
                           std::uint64_t block) {
    const std::uint32_t t = threadIdx.x;
    if (block >= p.blocks || t >= kM + kN) return 0.0f;
    if (t < kM) {
        return p.a.scales[(matrix * p.blocks + block) * p.m + smaller<std::uint64_t>(row + t, p.m - 1)];
    }
    return p.b.scales[(matrix * p.blocks + block) * p.n + smaller<std::uint64_t>(col + t - kM, p.n - 1)];
}

/// Products by warpgroup instructions (product_hopper.cu), compute capability 9.0 alone.
void multiply_slices_hopper(Stream stream, Precision precision, const Product& product, std::uint64_t batch);

}  // namespace retrace::kernels::cuda
