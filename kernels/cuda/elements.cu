// SPDX-License-Identifier: MIT
// All elementwise ops, alone or in runs: a thread does every step of a run on its elements (four, or sixteen where
// there are many); values between steps are in the thread's slots of shared memory.
#include "kernels/cuda/element_math.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

/// The thread's elements: `count` elements from `first` on, the first of which is at (row, col).
struct ElementRange {
    std::uint64_t first, row, col, cols;
    std::uint32_t count;
};

__device__ std::uint32_t load_element(const ElementSide& side, std::uint64_t index) {
    return side.size == 1 ? side.data[index] : reinterpret_cast<const std::uint32_t*>(side.data)[index];
}

__device__ void fetch_spread(const ElementSide& side, const ElementRange& range, Quad& out) {
    std::uint64_t row = range.row, col = range.col;
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        const std::uint64_t index = side.spread == Spread::row ? col : side.spread == Spread::column ? row : 0;
        out.word[v] = v < range.count ? load_element(side, index) : 0;
        if (++col == range.cols) col = 0, ++row;
    }
}

__device__ void fetch(const ElementSide& side, const ElementRange& range, const Quad* slots, Quad& out) {
    if (side.data == nullptr) {
        out = slots[side.slot * blockDim.x];
    } else if (side.spread != Spread::full) {
        fetch_spread(side, range, out);
    } else if (range.count == kEach && side.size == 4) {
        out = *reinterpret_cast<const Quad*>(side.data + 4 * range.first);
    } else if (range.count == kEach) {
        const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(side.data + range.first);
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) out.word[v] = bytes >> (8 * v) & 0xff;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            out.word[v] = v < range.count ? load_element(side, range.first + v) : 0;
        }
    }
}

__device__ void put(const ElementSide& side, const ElementRange& range, Quad* slots, const Quad& value) {
    if (side.data == nullptr) {
        slots[side.slot * blockDim.x] = value;
    } else if (range.count == kEach && side.size == 4) {
        *reinterpret_cast<Quad*>(side.data + 4 * range.first) = value;
    } else if (range.count == kEach) {
        std::uint32_t bytes = 0;
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) bytes |= (value.word[v] & 0xff) << (8 * v);
        *reinterpret_cast<std::uint32_t*>(side.data + range.first) = bytes;
    } else {
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) {
            if (v >= range.count) continue;
            if (side.size == 1) {
                side.data[range.first + v] = static_cast<std::uint8_t>(value.word[v]);
            } else {
                reinterpret_cast<std::uint32_t*>(side.data)[range.first + v] = value.word[v];
            }
        }
    }
}

__global__ void __launch_bounds__(kThreads, 4)
    elements_kernel(const ElementStep* steps, std::uint32_t count, std::uint64_t elements, std::uint64_t cols) {
    ElementRange range;
    range.first = global_thread() * kEach;
    if (range.first >= elements) return;
    range.count = static_cast<std::uint32_t>(smaller<std::uint64_t>(kEach, elements - range.first));
    range.row = range.first / cols;
    range.col = range.first % cols;
    range.cols = cols;
    Quad* const slots = &shared_as<Quad>() + threadIdx.x;
    for (std::uint32_t s = 0; s < count; ++s) {
        const ElementStep& step = steps[s];
        Quad a[1] = {}, b[1] = {}, c[1] = {}, out[1] = {};
        fetch(step.sides[0], range, slots, a[0]);
        if (step.inputs > 1) fetch(step.sides[1], range, slots, b[0]);
        if (step.inputs > 2) fetch(step.sides[2], range, slots, c[0]);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        put(step.result, range, slots, out[0]);
    }
}

constexpr std::uint32_t kQuads = 4;  ///< Quads of a thread, in the kernel that goes by quads.
constexpr std::uint64_t kSlotBytes = kQuads * kThreads * sizeof(Quad);
/// With fewer elements (AdamW's of one weight) four of a thread took less time on an H100, with more sixteen.
constexpr std::uint64_t kManyElements = 1 << 22;

/// Loads the thread's quads of an operand: number `first`, and every kThreads-th from there on, below `quads`.
__device__ void fetch_quads(const ElementSide& side, std::uint64_t first, std::uint64_t quads, std::uint64_t row_quads,
                            const Quad* slots, Quad (&out)[kQuads]) {
    RETRACE_UNROLL
    for (std::uint32_t j = 0; j < kQuads; ++j) {
        const std::uint64_t quad = first + j * kThreads;
        if (quad >= quads) continue;
        if (side.data == nullptr) {
            out[j] = slots[(side.slot * kQuads + j) * kThreads];
        } else if (side.spread == Spread::full) {
            out[j] = reinterpret_cast<const Quad*>(side.data)[quad];
        } else if (side.spread == Spread::row) {
            out[j] = reinterpret_cast<const Quad*>(side.data)[quad % row_quads];
        } else {
            const std::uint64_t index = side.spread == Spread::column ? quad / row_quads : 0;
            const std::uint32_t word = reinterpret_cast<const std::uint32_t*>(side.data)[index];
            out[j] = Quad{{word, word, word, word}};
        }
    }
}

__global__ void __launch_bounds__(kThreads, 2)
    quads_kernel(const ElementStep* steps, std::uint32_t count, std::uint64_t quads, std::uint64_t row_quads) {
    const std::uint64_t first = block_number() * (kThreads * kQuads) + threadIdx.x;
    if (first >= quads) return;
    Quad* const slots = &shared_as<Quad>() + threadIdx.x;
    for (std::uint32_t s = 0; s < count; ++s) {
        const ElementStep& step = steps[s];
        Quad a[kQuads] = {}, b[kQuads] = {}, c[kQuads] = {}, out[kQuads] = {};
        fetch_quads(step.sides[0], first, quads, row_quads, slots, a);
        if (step.inputs > 1) fetch_quads(step.sides[1], first, quads, row_quads, slots, b);
        if (step.inputs > 2) fetch_quads(step.sides[2], first, quads, row_quads, slots, c);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        RETRACE_UNROLL
        for (std::uint32_t j = 0; j < kQuads; ++j) {
            const std::uint64_t quad = first + j * kThreads;
            if (step.result.data == nullptr) {
                slots[(step.result.slot * kQuads + j) * kThreads] = out[j];
            } else if (quad < quads) {
                reinterpret_cast<Quad*>(step.result.data)[quad] = out[j];
            }
        }
    }
}

}  // namespace

bool goes_by_quads(const ElementStep& step, std::uint64_t cols) {
    const auto whole = [&](const ElementSide& side) {
        return side.size == 4 && (cols % kEach == 0 || side.spread == Spread::full || side.spread == Spread::scalar);
    };
    for (std::uint32_t i = 0; i < step.inputs; ++i)
        if (!whole(step.sides[i])) return false;
    return whole(step.result);
}

void run_elements(Stream stream, const ElementStep* steps, std::uint32_t count, std::uint32_t slots,
                  std::uint64_t elements, std::uint64_t cols, bool by_quads) {
    if (by_quads && elements % kEach == 0 && elements >= kManyElements && slots * kSlotBytes <= 48 * 1024) {
        const std::uint64_t quads = elements / kEach;
        Grid grid = grid_for((quads + kQuads - 1) / kQuads);
        grid.shared = slots * static_cast<std::uint32_t>(kSlotBytes);
        return launch(stream, grid, quads_kernel, steps, count, quads, smaller<std::uint64_t>(cols, elements) / kEach);
    }
    Grid grid = grid_for((elements + kEach - 1) / kEach);
    grid.shared = slots * kThreads * static_cast<std::uint32_t>(sizeof(Quad));
    launch(stream, grid, elements_kernel, steps, count, elements, cols);
}

}  // namespace retrace::kernels::cuda
