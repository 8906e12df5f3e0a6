// SPDX-License-Identifier: MIT
// Runs of elementwise ops and reductions of rows (norms, softmax, losses): a block of threads computes one row of all
// ops of the run. Values that only the run reads are in shared memory or, if a row is too long for that, in the block's
// piece of a slab. The ops run one after the other, so every primitive ends as it does alone.
#include "kernels/cuda/element_math.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/reduce_lanes.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kRowThreads = 128, kLongRowThreads = 512;
constexpr std::uint64_t kSlabBytes = 64 << 20, kSlabBlocks = 512;

__device__ std::uint8_t* place_of(const RowSide& side, std::uint64_t row, std::uint8_t* own) {
    return side.data == nullptr ? own + side.at : side.data + row * side.stride;
}

__device__ std::uint32_t load_word(const RowSide& side, const std::uint8_t* from, std::uint64_t index) {
    return side.size == 1 ? from[index] : reinterpret_cast<const std::uint32_t*>(from)[index];
}

/// Loads elements [first, first + count) of the row.
__device__ void fetch(const RowSide& side, const std::uint8_t* from, std::uint64_t first, std::uint32_t count,
                      Quad& out) {
    if (side.quads && count == kEach) {
        out = reinterpret_cast<const Quad*>(from)[first / kEach];
        return;
    }
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v)
        out.word[v] = v < count ? load_word(side, from, side.each ? first + v : 0) : 0;
}

__device__ void put(const RowSide& side, std::uint8_t* to, std::uint64_t first, std::uint32_t count,
                    const Quad& value) {
    if (side.quads && count == kEach) {
        reinterpret_cast<Quad*>(to)[first / kEach] = value;
        return;
    }
    RETRACE_UNROLL
    for (std::uint32_t v = 0; v < kEach; ++v) {
        if (v >= count) continue;
        if (side.size == 1) {
            to[first + v] = static_cast<std::uint8_t>(value.word[v]);
        } else {
            reinterpret_cast<std::uint32_t*>(to)[first + v] = value.word[v];
        }
    }
}

template <std::uint32_t kBlockThreads>
__device__ void elements_of_row(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    const std::uint8_t* from[3] = {};
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 3; ++i) {
        if (i < step.inputs) from[i] = place_of(step.sides[i], row, own);
    }
    std::uint8_t* const to = place_of(step.result, row, own);
    for (std::uint64_t first = threadIdx.x * kEach; first < step.cols; first += kBlockThreads * kEach) {
        const std::uint32_t count = static_cast<std::uint32_t>(smaller<std::uint64_t>(kEach, step.cols - first));
        Quad a{}, b{}, c{}, out{};
        fetch(step.sides[0], from[0], first, count, a);
        if (step.inputs > 1) fetch(step.sides[1], from[1], first, count, b);
        if (step.inputs > 2) fetch(step.sides[2], from[2], first, count, c);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        put(step.result, to, first, count, out);
    }
}

/// Computes one level of a reduction of step.cols terms, with sixteen threads for each result.
template <std::uint32_t kBlockThreads>
__device__ void reduce_row(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    const float* const x = reinterpret_cast<const float*>(place_of(step.sides[0], row, own));
    std::uint8_t* const to = place_of(step.result, row, own);
    const std::uint64_t results = reduce_level_size(step.cols);
    const std::uint32_t group = threadIdx.x / kLanes;
    // All threads run the same number of iterations, because shuffles need whole warps.
    for (std::uint64_t begin = 0; begin < results; begin += kBlockThreads / kLanes) {
        const std::uint64_t result = begin + group, first = result * kTerms;
        const std::uint64_t count = result < results ? smaller(kTerms, step.cols - first) : 0;
        const float* const terms = count == 0 ? x : x + first;
        std::uint32_t bits = 0;
        if (step.code == OpCode::row_sum) {
            bits = to_bits(finish(reduce_lanes<Reduction::sum>(terms, count)));
        } else if (step.code == OpCode::row_max) {
            bits = to_bits(finish(reduce_lanes<Reduction::max>(terms, count)));
        } else {
            bits = static_cast<std::uint32_t>(first) + argmax_lanes(terms, count);
        }
        if (threadIdx.x % kLanes != 0 || result >= results) continue;
        if (step.code == OpCode::row_argmax_pick)
            bits = load_word(step.sides[1], place_of(step.sides[1], row, own), bits);
        reinterpret_cast<std::uint32_t*>(to)[result] = bits;
    }
}

/// Computes one row with a block of threads.
template <std::uint32_t kBlockThreads>
__device__ void compute_row(const RowStep* steps, std::uint32_t count, std::uint64_t row, std::uint8_t* own) {
    for (std::uint32_t s = 0; s < count; ++s) {
        const RowStep& step = steps[s];
        if (step.code >= OpCode::neg && step.code <= OpCode::select) {
            elements_of_row<kBlockThreads>(step, row, own);
        } else {
            reduce_row<kBlockThreads>(step, row, own);
        }
        __syncthreads();  // the next op reads values of other threads, or overwrites them
    }
}

__global__ void __launch_bounds__(kRowThreads, 4)
    fused_rows_kernel(const RowStep* steps, std::uint32_t count, std::uint64_t rows) {
    const std::uint64_t row = block_number();
    if (row < rows) compute_row<kRowThreads>(steps, count, row, &shared_as<std::uint8_t>());
}

/// The blocks take the rows in turn.
__global__ void __launch_bounds__(kLongRowThreads, 1)
    long_fused_rows_kernel(const RowStep* steps, std::uint32_t count, std::uint64_t rows, std::uint8_t* slab,
                           std::uint64_t own_bytes, std::uint64_t blocks) {
    const std::uint64_t block = block_number();
    if (block >= blocks) return;
    RETRACE_KEEP_LOOP
    for (std::uint64_t row = block; row < rows; row += blocks)
        compute_row<kLongRowThreads>(steps, count, row, slab + block * own_bytes);
}

}  // namespace

std::uint64_t slab_blocks(std::uint64_t rows, std::uint64_t own_bytes) {
    const std::uint64_t fit = own_bytes < kSlabBytes ? kSlabBytes / own_bytes : 1;
    return smaller(rows, smaller(fit, kSlabBlocks));
}

void run_fused_rows(Stream stream, const RowStep* steps, std::uint32_t count, std::uint32_t own_bytes,
                    std::uint64_t rows, std::uint8_t* slab) {
    if (slab == nullptr) {
        launch(stream, Grid{rows, kRowThreads, own_bytes}, fused_rows_kernel, steps, count, rows);
        return;
    }
    const std::uint64_t blocks = slab_blocks(rows, own_bytes);
    launch(stream, Grid{blocks, kLongRowThreads, 0}, long_fused_rows_kernel, steps, count, rows, slab,
           std::uint64_t{own_bytes}, blocks);
}

}  // namespace retrace::kernels::cuda
