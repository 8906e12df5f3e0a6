// SPDX-License-Identifier: MIT
// Runs of elementwise ops and reductions of rows (norms, softmax, losses): a team of threads, which is a warp or a
// block, computes one row of all ops of the run. Values that only the run reads are in shared memory or, if a row is
// too long for that, in the block's piece of a slab. The ops run one after the other, so every primitive ends as it
// does alone.
#include "kernels/cuda/element_math.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/reduce_lanes.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kRowThreads = 128, kLongRowThreads = 512, kWarp = 32;
constexpr std::uint32_t kQuads = 4;  ///< Quads of a thread at a time, in steps that go by quads.
/// Bytes of a row's own memory up to which a warp computes it; a block's shared memory holds four such rows.
constexpr std::uint32_t kWarpRowBytes = 12 << 10;
constexpr std::uint64_t kSlabBytes = 64 << 20, kSlabBlocks = 512;

__device__ std::uint8_t* place_of(const RowSide& side, std::uint64_t row, std::uint8_t* own) {
    if (side.data == nullptr) return own + side.at;
    return side.data + (side.period == 0 ? row : row % side.period) * side.stride;
}

/// Addresses of one row of a step's operands and of its result.
struct RowAddresses {
    const std::uint8_t* from[3] = {};
    std::uint8_t* to;
};
__device__ RowAddresses addresses_of(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    RowAddresses at;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 3; ++i) {
        if (i < step.inputs) at.from[i] = place_of(step.sides[i], row, own);
    }
    at.to = place_of(step.result, row, own);
    return at;
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

/// The number of a thread in its team.
template <std::uint32_t kTeam>
__device__ std::uint32_t in_team() {
    return threadIdx.x % kTeam;
}

/// Loads the thread's quads from `first` on, every kTeam-th, below `quads`.
template <std::uint32_t kTeam>
__device__ void fetch_quads(const RowSide& side, const std::uint8_t* from, std::uint64_t first, std::uint64_t quads,
                            Quad (&out)[kQuads]) {
    const std::uint32_t word = side.quads ? 0 : *reinterpret_cast<const std::uint32_t*>(from);
    RETRACE_UNROLL
    for (std::uint32_t j = 0; j < kQuads; ++j) {
        if (!side.quads) {
            out[j] = Quad{{word, word, word, word}};
        } else if (first + j * kTeam < quads) {
            out[j] = reinterpret_cast<const Quad*>(from)[first + j * kTeam];
        }
    }
}

template <std::uint32_t kTeam>
__device__ void quads_of_row(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    const RowAddresses at = addresses_of(step, row, own);
    Quad* const to = reinterpret_cast<Quad*>(at.to);
    const std::uint64_t quads = step.cols / kEach;
    for (std::uint64_t first = in_team<kTeam>(); first < quads; first += kTeam * kQuads) {
        Quad a[kQuads] = {}, b[kQuads] = {}, c[kQuads] = {}, out[kQuads] = {};
        fetch_quads<kTeam>(step.sides[0], at.from[0], first, quads, a);
        if (step.inputs > 1) fetch_quads<kTeam>(step.sides[1], at.from[1], first, quads, b);
        if (step.inputs > 2) fetch_quads<kTeam>(step.sides[2], at.from[2], first, quads, c);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        RETRACE_UNROLL
        for (std::uint32_t j = 0; j < kQuads; ++j)
            if (first + j * kTeam < quads) to[first + j * kTeam] = out[j];
    }
}

template <std::uint32_t kTeam>
__device__ void elements_of_row(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    const RowAddresses at = addresses_of(step, row, own);
    for (std::uint64_t first = in_team<kTeam>() * kEach; first < step.cols; first += kTeam * kEach) {
        const std::uint32_t count = static_cast<std::uint32_t>(smaller<std::uint64_t>(kEach, step.cols - first));
        Quad a[1] = {}, b[1] = {}, c[1] = {}, out[1] = {};
        fetch(step.sides[0], at.from[0], first, count, a[0]);
        if (step.inputs > 1) fetch(step.sides[1], at.from[1], first, count, b[0]);
        if (step.inputs > 2) fetch(step.sides[2], at.from[2], first, count, c[0]);
        compute(ElementOp{step.code, step.in, step.out}, a, b, c, out);
        put(step.result, at.to, first, count, out[0]);
    }
}

/// Computes one level of a reduction of step.cols terms, with sixteen threads for each result.
template <std::uint32_t kTeam>
__device__ void reduce_row(const RowStep& step, std::uint64_t row, std::uint8_t* own) {
    const float* const x = reinterpret_cast<const float*>(place_of(step.sides[0], row, own));
    std::uint8_t* const to = place_of(step.result, row, own);
    const std::uint64_t results = reduce_level_size(step.cols);
    const std::uint32_t group = in_team<kTeam>() / kLanes;
    // All threads run the same number of iterations, because shuffles need whole warps.
    for (std::uint64_t begin = 0; begin < results; begin += kTeam / kLanes) {
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

/// Computes one row with a team of threads.
template <std::uint32_t kTeam>
__device__ void compute_row(const RowStep* steps, std::uint32_t count, std::uint64_t row, std::uint8_t* own) {
    for (std::uint32_t s = 0; s < count; ++s) {
        const RowStep& step = steps[s];
        if (step.by_quads) {
            quads_of_row<kTeam>(step, row, own);
        } else if (step.code >= OpCode::neg && step.code <= OpCode::select) {
            elements_of_row<kTeam>(step, row, own);
        } else {
            reduce_row<kTeam>(step, row, own);
        }
        // The next op reads values of other threads, or overwrites them.
        if constexpr (kTeam == kWarp) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
}

__global__ void __launch_bounds__(kRowThreads, 4)
    fused_rows_kernel(const RowStep* steps, std::uint32_t count, std::uint64_t rows) {
    const std::uint64_t row = block_number();
    if (row < rows) compute_row<kRowThreads>(steps, count, row, &shared_as<std::uint8_t>());
}

/// Every warp of a block takes a row.
__global__ void __launch_bounds__(kRowThreads, 4)
    warp_rows_kernel(const RowStep* steps, std::uint32_t count, std::uint64_t rows, std::uint32_t own_bytes) {
    const std::uint32_t warp = threadIdx.x / kWarp;
    const std::uint64_t row = block_number() * (kRowThreads / kWarp) + warp;
    if (row < rows) compute_row<kWarp>(steps, count, row, &shared_as<std::uint8_t>() + warp * own_bytes);
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
    if (own_bytes <= kWarpRowBytes) {
        constexpr std::uint32_t kRows = kRowThreads / kWarp;
        const std::uint32_t own = (own_bytes + 15) / 16 * 16;
        return launch(stream, Grid{(rows + kRows - 1) / kRows, kRowThreads, kRows * own}, warp_rows_kernel, steps,
                      count, rows, own);
    }
    if (slab == nullptr) {
        launch(stream, Grid{rows, kRowThreads, own_bytes}, fused_rows_kernel, steps, count, rows);
        return;
    }
    const std::uint64_t blocks = slab_blocks(rows, own_bytes);
    launch(stream, Grid{blocks, kLongRowThreads, 0}, long_fused_rows_kernel, steps, count, rows, slab,
           std::uint64_t{own_bytes}, blocks);
}

}  // namespace retrace::kernels::cuda
