// SPDX-License-Identifier: MIT
// One level of a reduction (contract 5). The sixteen lanes of the contract are sixteen threads.
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/reduce_lanes.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kStrip = 32;  ///< Columns that one block computes.

/// The terms that one group of sixteen threads reduces: `count` terms of x from `first` on.
struct Run {
    std::uint64_t first, count;
};

__device__ Run run_of(std::uint64_t result, std::uint64_t results, std::uint64_t total, std::uint64_t cols) {
    if (result >= total) return Run{0, 0};
    const std::uint64_t begin = result % results * kTerms;
    return Run{result / results * cols + begin, smaller(kTerms, cols - begin)};
}

template <Reduction kind>
__global__ void rows_kernel(const float* x, float* out, std::uint64_t total, std::uint64_t results,
                            std::uint64_t cols) {
    const std::uint64_t result = global_thread() / kLanes;
    const std::uint32_t lane = threadIdx.x % kLanes;
    const Run run = run_of(result, results, total, cols);
    const float value = reduce_lanes<kind>(x + run.first, run.count);
    if (lane == 0 && result < total) out[result] = finish(value);
}

template <Reduction kind>
__global__ void __launch_bounds__(kLanes* kStrip)
    columns_kernel(const float* x, float* out, std::uint64_t rows, std::uint64_t cols, std::uint64_t levels,
                   std::uint64_t strips) {
    struct Shared {
        float value[kLanes][kStrip];
    };
    Shared& shared = shared_as<Shared>();
    const std::uint64_t level = block_number() / strips;
    if (level >= levels) return;
    const std::uint32_t in_strip = threadIdx.x % kStrip, lane = threadIdx.x / kStrip;
    const std::uint64_t col = block_number() % strips * kStrip + in_strip, begin = level * kTerms;
    const std::uint64_t count = smaller(kTerms, rows - begin);
    float value = start<kind>();
    if (col < cols) {
        for (std::uint64_t k = lane; k < count; k += kLanes) value = join<kind>(value, x[(begin + k) * cols + col]);
    }
    shared.value[lane][in_strip] = value;
    for (std::uint32_t h = kLanes / 2; h >= 1; h /= 2) {
        __syncthreads();
        if (lane < h)
            shared.value[lane][in_strip] = join<kind>(shared.value[lane][in_strip], shared.value[lane + h][in_strip]);
    }
    if (lane == 0 && col < cols) out[level * cols + col] = finish(shared.value[0][in_strip]);
}

__global__ void argmax_kernel(const float* x, const std::int32_t* choices, std::int32_t* out, std::uint64_t total,
                              std::uint64_t results, std::uint64_t cols) {
    const std::uint64_t result = global_thread() / kLanes;
    const std::uint32_t lane = threadIdx.x % kLanes;
    const Run run = run_of(result, results, total, cols);
    const std::uint32_t best = argmax_lanes(x + run.first, run.count);
    if (lane != 0 || result >= total) return;
    out[result] =
        choices != nullptr ? choices[run.first + best] : static_cast<std::int32_t>(result % results * kTerms + best);
}

}  // namespace

void reduce_rows_on_device(Stream stream, Reduction kind, const float* x, float* out, std::uint64_t rows,
                           std::uint64_t cols) {
    const std::uint64_t results = reduce_level_size(cols), total = rows * results;
    launch(stream, grid_for(total * kLanes),
           kind == Reduction::sum ? rows_kernel<Reduction::sum> : rows_kernel<Reduction::max>, x, out, total, results,
           cols);
}

void reduce_columns_on_device(Stream stream, Reduction kind, const float* x, float* out, std::uint64_t rows,
                              std::uint64_t cols) {
    const std::uint64_t levels = reduce_level_size(rows), strips = (cols + kStrip - 1) / kStrip;
    const Grid grid{levels * strips, kLanes * kStrip, kLanes * kStrip * 4};
    launch(stream, grid, kind == Reduction::sum ? columns_kernel<Reduction::sum> : columns_kernel<Reduction::max>, x,
           out, rows, cols, levels, strips);
}

void argmax_rows_on_device(Stream stream, const float* x, const std::int32_t* choices, std::int32_t* out,
                           std::uint64_t rows, std::uint64_t cols) {
    const std::uint64_t results = reduce_level_size(cols), total = rows * results;
    launch(stream, grid_for(total * kLanes), argmax_kernel, x, choices, out, total, results, cols);
}

}  // namespace retrace::kernels::cuda
