// SPDX-License-Identifier: MIT
// All elementwise ops, alone or in runs: a thread does every step of a run on its four elements; values between steps
// are in the thread's slots of shared memory.
#include "kernels/cuda/element_math.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

/// The thread's elements: `count` elements from `first` on, the first of which is at (row, col).
struct BufferLocation {
    std::uint64_t first, row, col, cols;
    std::uint32_t count;
};

__device__ std::uint32_t load_element(const ElementSide& side, std::uint64_t index) {
    return side.size == 1 ? side.data[index] : reinterpret_cast<const std::uint32_t*>(side.data)[index];
}

__device__ void fetch_spread(const ElementSide& side, const BufferLocation& place, Quad& out) {
    std::uint64_t row = place.row, col = place.col;
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        const std::uint64_t index = side.spread == Spread::row ? col : side.spread == Spread::column ? row : 0;
        out.word[v] = v < place.count ? load_element(side, index) : 0;
        if (++col == place.cols) col = 0, ++row;
    }
}

__device__ void fetch(const ElementSide& side, const BufferLocation& place, const Quad* slots, Quad& out) {
    if (side.data == nullptr) {
        out = slots[side.slot * blockDim.x];
    } else if (side.spread != Spread::full) {
        fetch_spread(side, place, out);
    } else if (place.count == kEach && side.size == 4) {
        out = *reinterpret_cast<const Quad*>(side.data + 4 * place.first);
    } else if (place.count == kEach) {
        const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(side.data + place.first);
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = bytes >> (8 * v) & 0xff;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            out.word[v] = v < place.count ? load_element(side, place.first + v) : 0;
        }
    }
}

__device__ void put(const ElementSide& side, const BufferLocation& place, Quad* slots, const Quad& value) {
    if (side.data == nullptr) {
        slots[side.slot * blockDim.x] = value;
    } else if (place.count == kEach && side.size == 4) {
        *reinterpret_cast<Quad*>(side.data + 4 * place.first) = value;
    } else if (place.count == kEach) {
        std::uint32_t bytes = 0;
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) bytes |= (value.word[v] & 0xff) << (8 * v);
        *reinterpret_cast<std::uint32_t*>(side.data + place.first) = bytes;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            if (v >= place.count) continue;
            if (side.size == 1) {
                side.data[place.first + v] = static_cast<std::uint8_t>(value.word[v]);
            } else {
                reinterpret_cast<std::uint32_t*>(side.data)[place.first + v] = value.word[v];
            }
        }
    }
}

__global__ void __launch_bounds__(kThreads)
    elements_kernel(const ElementStep* steps, std::uint32_t count, std::uint64_t elements, std::uint64_t cols) {
    BufferLocation place;
    place.first = global_thread() * kEach;
    if (place.first >= elements) return;
    place.count = static_cast<std::uint32_t>(smaller<std::uint64_t>(kEach, elements - place.first));
    place.row = place.first / cols;
    place.col = place.first % cols;
    place.cols = cols;
    Quad* const slots = &shared_as<Quad>() + threadIdx.x;
    for (std::uint32_t s = 0; s < count; ++s) {
        const ElementStep& step = steps[s];
        Quad a{}, b{}, c{}, out{};
        fetch(step.sides[0], place, slots, a);
        if (step.inputs > 1) fetch(step.sides[1], place, slots, b);
        if (step.inputs > 2) fetch(step.sides[2], place, slots, c);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        put(step.result, place, slots, out);
    }
}

}  // namespace

void run_elements(Stream stream, const ElementStep* steps, std::uint32_t count, std::uint32_t slots,
                  std::uint64_t elements, std::uint64_t cols) {
    Grid grid = grid_for((elements + kEach - 1) / kEach);
    grid.shared = slots * kThreads * static_cast<std::uint32_t>(sizeof(Quad));
    launch(stream, grid, elements_kernel, steps, count, elements, cols);
}

}  // namespace retrace::kernels::cuda
