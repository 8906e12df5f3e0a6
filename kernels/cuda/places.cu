// SPDX-License-Identifier: MIT
// Places within rows: row_top by the rank of every element in its row, row_pick and row_add_at element by element.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/ops/places.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kColumns = kTopColumnsMax;
constexpr std::uint32_t kTopThreads = 128;

struct TopRow {
    std::uint32_t keys[kColumns];
    std::uint8_t chosen[kColumns];
};

/// Whether fewer than `count` elements of the row come before element `at`.
__device__ bool in_top(const std::uint32_t* keys, std::uint32_t cols, std::uint32_t count, std::uint32_t at) {
    const std::uint32_t own = keys[at];
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < cols; ++i) before += keys[i] > own || (keys[i] == own && i < at) ? 1 : 0;
    return before < count;
}

/// A block takes a row.
__global__ void top_kernel(const std::uint32_t* x, std::int32_t* out, std::uint64_t rows, std::uint32_t cols,
                           std::uint32_t count) {
    TopRow& shared = shared_as<TopRow>();
    const std::uint64_t row = block_number();
    if (row >= rows) return;
    for (std::uint32_t i = threadIdx.x; i < cols; i += kTopThreads) shared.keys[i] = magnitude_key(x[row * cols + i]);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < cols; i += kTopThreads)
        shared.chosen[i] = in_top(shared.keys, cols, count, i) ? 1 : 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < cols; i += kTopThreads) {
        if (shared.chosen[i] == 0) continue;
        std::uint32_t at = 0;
        for (std::uint32_t before = 0; before < i; ++before) at += shared.chosen[before];
        out[row * count + at] = static_cast<std::int32_t>(i);
    }
}

template <class T>
__global__ void pick_kernel(const T* values, const std::int32_t* places, T* out, std::uint64_t elements,
                            std::uint64_t cols, std::uint64_t count) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::int64_t place = places[element];
    const bool inside = place >= 0 && static_cast<std::uint64_t>(place) < cols;
    out[element] = inside ? values[element / count * cols + static_cast<std::uint64_t>(place)] : T{0};
}

/// `out` may be `base`: a thread reads and writes its own element only.
__global__ void add_at_kernel(const std::uint32_t* base, const std::int32_t* places, const float* values,
                              std::uint32_t* out, std::uint64_t elements, std::uint64_t cols, std::uint64_t count) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::uint64_t first = element / cols * count;
    const auto col = static_cast<std::int64_t>(element % cols);
    std::uint32_t bits = base[element];
    for (std::uint64_t i = first; i < first + count; ++i) {
        if (places[i] != col) continue;
        bits = to_bits(finish(from_bits(bits) + values[i]));
        break;
    }
    out[element] = bits;
}

}  // namespace

void top_of_rows_on_device(Stream stream, const std::uint32_t* x, std::int32_t* out, std::uint64_t rows,
                           std::uint32_t cols, std::uint32_t count) {
    launch(stream, Grid{rows, kTopThreads, sizeof(TopRow)}, top_kernel, x, out, rows, cols, count);
}

void pick_places_on_device(Stream stream, std::uint32_t size, const std::uint8_t* values, const std::int32_t* places,
                           std::uint8_t* out, std::uint64_t elements, std::uint64_t cols, std::uint64_t count) {
    if (size == 1) {
        launch(stream, grid_for(elements), pick_kernel<std::uint8_t>, values, places, out, elements, cols, count);
    } else {
        launch(stream, grid_for(elements), pick_kernel<std::uint32_t>, reinterpret_cast<const std::uint32_t*>(values),
               places, reinterpret_cast<std::uint32_t*>(out), elements, cols, count);
    }
}

void add_at_places_on_device(Stream stream, const std::uint32_t* base, const std::int32_t* places, const float* values,
                             std::uint32_t* out, std::uint64_t elements, std::uint64_t cols, std::uint64_t count) {
    launch(stream, grid_for(elements), add_at_kernel, base, places, values, out, elements, cols, count);
}

}  // namespace retrace::kernels::cuda
