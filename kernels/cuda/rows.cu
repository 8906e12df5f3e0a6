// SPDX-License-Identifier: MIT
// Rows by index: batches, embeddings, and their gradient in the contract's order without atomics.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {
namespace {

template <class T>
__global__ void gather_kernel(const T* table, const std::int32_t* index, T* out, std::uint64_t table_rows,
                              std::uint64_t elements, std::uint64_t width) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::int64_t row = index[element / width];
    const bool inside = row >= 0 && static_cast<std::uint64_t>(row) < table_rows;
    out[element] = inside ? table[static_cast<std::uint64_t>(row) * width + element % width] : T{0};
}

constexpr std::uint32_t kTokens = 256;  ///< Of one link: one block of the chain.
static_assert(kTokens == kThreads, "a thread looks at one token of a link");

/// A block computes one row of the result in 256 columns. Its threads look for the row's tokens together;
/// links without one add +0 to a carried value that is never -0, so they are skipped.
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const float* values, const std::int32_t* index, float* out, std::uint64_t tokens,
                   std::uint64_t width, std::uint64_t strips) {
    struct Shared {
        std::uint32_t found[2][kTokens / 32];  // two sets in turn: one barrier a link is enough
    };
    Shared& shared = shared_as<Shared>();
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x / strips);
    const std::uint64_t col = blockIdx.x % strips * kThreads + threadIdx.x;
    float carried = 0.0f;
    std::uint32_t set = 0;
    for (std::uint64_t begin = 0; begin < tokens; begin += kTokens, set ^= 1) {
        const std::uint64_t token = begin + threadIdx.x;
        const std::uint32_t found = __ballot_sync(kAllLanes, token < tokens && index[token] == row);
        if (threadIdx.x % 32 == 0) shared.found[set][threadIdx.x / 32] = found;
        __syncthreads();
        if (col >= width) continue;
        float sum = 0.0f;
        for (std::uint32_t w = 0; w < kTokens / 32; ++w) {
            for (std::uint32_t rest = shared.found[set][w]; rest != 0; rest &= rest - 1) {
                const std::uint32_t at =
                    32 * w + static_cast<std::uint32_t>(__ffs(static_cast<int>(rest))) - 1;
                sum += values[(begin + at) * width + col];
            }
        }
        carried = canonical_nan(carried + sum);
    }
    if (col < width) out[static_cast<std::uint64_t>(row) * width + col] = finish(carried);
}

}  // namespace

void gather_rows_on_device(Stream stream, std::uint32_t size, const std::uint8_t* table,
                           const std::int32_t* index, std::uint8_t* out, std::uint64_t table_rows,
                           std::uint64_t m, std::uint64_t width) {
    const std::uint64_t elements = m * width;
    if (size == 1) {
        launch(stream, grid_for(elements), gather_kernel<std::uint8_t>, table, index, out, table_rows,
               elements, width);
    } else {
        launch(stream, grid_for(elements), gather_kernel<std::uint32_t>,
               reinterpret_cast<const std::uint32_t*>(table), index, reinterpret_cast<std::uint32_t*>(out),
               table_rows, elements, width);
    }
}

void scatter_add_on_device(Stream stream, const float* values, const std::int32_t* index, float* out,
                           std::uint64_t tokens, std::uint64_t width, std::uint64_t rows) {
    const std::uint64_t strips = (width + kThreads - 1) / kThreads;
    launch(stream, Grid{rows * strips, kThreads, 2 * kTokens / 8}, scatter_kernel, values, index, out, tokens,
           width, strips);
}

}  // namespace retrace::kernels::cuda
