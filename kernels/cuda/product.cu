// SPDX-License-Identifier: MIT
// Products of sliced operands on int8 tensor cores (contract 4.3, 4.4). The integer sums of a block
// of 256 are exact in int32 in any order; the carried value stays in registers from block to block.
#include "kernels/cuda/product.hpp"
#include "kernels/cuda/tensor_core.hpp"

namespace retrace::kernels::cuda {
namespace {

/// The tile of one block of threads: kM × kN of C, with kK digits of K per stage. Eight warps share it, each kWarpM ×
/// kWarpN.
template <std::uint32_t S_, std::uint32_t kM_, std::uint32_t kK_, std::uint32_t kStages_>
struct Shape {
    static constexpr std::uint32_t S = S_, kM = kM_, kK = kK_, kStages = kStages_;
    static constexpr std::uint32_t kN = S == 3 ? 64 : 128;
    static constexpr std::uint32_t kWarpN = 32, kWarpM = kM * kN / (8 * kWarpN);
    static constexpr std::uint32_t kWarpsN = kN / kWarpN;
    static constexpr std::uint32_t kRow =
        kK + 16;  ///< Padded so that the eight rows of a matrix are in different banks.
    static constexpr std::uint32_t kMTiles = kWarpM / 16, kNTiles = kWarpN / 8;
    static constexpr std::uint32_t kStepsABlock = kBlockK / kK;
    static_assert(kM / kWarpM * kWarpsN * 32 == kThreads, "eight warps");
    static_assert(kM + kN <= kThreads, "a thread looks after one scale");
    static_assert(kMTiles * 16 == kWarpM && kNTiles % 2 == 0, "whole fragments, columns two at a time");
    static_assert(kStepsABlock * kK == kBlockK && kUnitK % kK == 0, "whole stages");

    struct Shared {
        std::int8_t a[kStages][S][kM][kRow], b[kStages][S][kN][kRow];
        float scale[2][kM + kN];  ///< Scales of this block and of the next.
    };
};

/// The position of a thread.
struct ThreadPosition {
    std::uint64_t matrix, row, col;  ///< First row and column of the tile.
    std::uint32_t warp_row, warp_col, lane;
};

template <class T>
__device__ ThreadPosition position_of(const Product& p) {
    const std::uint32_t warp = threadIdx.x / 32;
    const TileIndex tile = tile_of(block_number(), p.tiles_m, p.tiles_n);
    ThreadPosition position;
    position.matrix = tile.matrix;
    position.row = tile.m * T::kM;
    position.col = tile.n * T::kN;
    position.warp_row = warp / T::kWarpsN * T::kWarpM;
    position.warp_col = warp % T::kWarpsN * T::kWarpN;
    position.lane = threadIdx.x % 32;
    return position;
}

/// Starts the copies of one stage. Vectors beyond the matrix repeat its last one; their results are not stored.
template <class T, std::uint32_t kVectors>
__device__ void fetch(const std::int8_t* digits, const DigitOrder& order, std::uint64_t matrix, std::uint64_t first,
                      std::uint64_t vectors, std::uint64_t k, std::int8_t (&to)[T::S][kVectors][T::kRow]) {
    constexpr std::uint32_t kPieces = T::kK / kPiece, kCopies = T::S * kVectors * kPieces;
    static_assert(kVectors % kUnitVectors == 0, "tiles begin with a unit");
    digits += order.unit(matrix, k / kUnitK, first / kUnitVectors);
    const auto last = static_cast<std::uint32_t>(smaller<std::uint64_t>(vectors - 1 - first, kVectors - 1));
    const std::uint32_t first_piece = static_cast<std::uint32_t>(k % kUnitK) / kPiece;
    RETRACE_UNROLL
    for (std::uint32_t begin = 0; begin < kCopies; begin += kThreads) {
        const std::uint32_t index = begin + threadIdx.x;
        if (kCopies % kThreads != 0 && index >= kCopies) continue;
        const std::uint32_t t = index / (kVectors * kPieces), v = index / kPieces % kVectors, piece = index % kPieces;
        copy_16(&to[t][v][piece * kPiece],
                digits + t * order.plane + piece_offset(smaller(v, last), first_piece + piece));
    }
}

template <class T>
__device__ void fetch_stage(const Product& p, const ThreadPosition& position, std::uint64_t step,
                            typename T::Shared& shared) {
    const std::uint64_t k = step * T::kK;
    const std::uint32_t stage = static_cast<std::uint32_t>(step % T::kStages);
    fetch<T, T::kM>(p.a.digits, p.order_a, position.matrix, position.row, p.m, k, shared.a[stage]);
    fetch<T, T::kN>(p.b.digits, p.order_b, position.matrix, position.col, p.n, k, shared.b[stage]);
}

/// S_g of the thread's elements; value[g][mt][nt][i] is element i of the fragment at (mt, nt).
template <class T>
struct Sums {
    std::int32_t value[T::S][T::kMTiles][T::kNTiles][4];

    __device__ float combined(std::uint32_t mt, std::uint32_t nt, std::uint32_t i) const {
        return combined_sums<T::S>(value[0][mt][nt][i], value[T::S > 1 ? 1 : 0][mt][nt][i], value[T::S - 1][mt][nt][i]);
    }

    __device__ void clear() {
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < T::S * T::kMTiles * T::kNTiles * 4; ++i) {
            value[i / (T::kMTiles * T::kNTiles * 4)][i / (T::kNTiles * 4) % T::kMTiles][i / 4 % T::kNTiles][i % 4] = 0;
        }
    }
};

/// S_g of contract 4.3 for 32 digits of K from `k` on within the stage: dA_t · dB_u counts towards g = t + u.
template <class T>
__device__ void multiply_step(const typename T::Shared& shared, const ThreadPosition& position, std::uint32_t stage,
                              std::uint32_t k, Sums<T>& sums) {
    const std::uint32_t matrix = position.lane / 8, in_matrix = position.lane % 8;
    std::uint32_t b[T::S][T::kNTiles][2];
    RETRACE_UNROLL
    for (std::uint32_t t = 0; t < T::S; ++t) {
        RETRACE_UNROLL
        for (std::uint32_t nt = 0; nt < T::kNTiles; nt += 2) {
            std::uint32_t four[4];
            const std::uint32_t col = position.warp_col + 8 * nt + matrix / 2 * 8 + in_matrix;
            load_matrices(four, &shared.b[stage][t][col][k + matrix % 2 * 16]);
            b[t][nt][0] = four[0], b[t][nt][1] = four[1];
            b[t][nt + 1][0] = four[2], b[t][nt + 1][1] = four[3];
        }
    }
    RETRACE_UNROLL
    for (std::uint32_t mt = 0; mt < T::kMTiles; ++mt) {
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < T::S; ++t) {
            std::uint32_t a[4];
            const std::uint32_t row = position.warp_row + 16 * mt + matrix % 2 * 8 + in_matrix;
            load_matrices(a, &shared.a[stage][t][row][k + matrix / 2 * 16]);
            RETRACE_UNROLL
            for (std::uint32_t u = 0; u + t < T::S; ++u) {
                RETRACE_UNROLL
                for (std::uint32_t nt = 0; nt < T::kNTiles; ++nt) multiply_add(sums.value[t + u][mt][nt], a, b[u][nt]);
            }
        }
    }
}

/// Return row and column, within the tile, of element i of the fragment at (mt, nt).
__device__ std::uint32_t row_in_tile(const ThreadPosition& position, std::uint32_t mt, std::uint32_t i) {
    return position.warp_row + 16 * mt + position.lane / 4 + (i / 2) * 8;
}
__device__ std::uint32_t col_in_tile(const ThreadPosition& position, std::uint32_t nt, std::uint32_t i) {
    return position.warp_col + 8 * nt + position.lane % 4 * 2 + i % 2;
}

template <class T>
using Carried = float[T::kMTiles][T::kNTiles][4];

/// v and c of contract 4.4 for every element of the thread.
template <class T>
__device__ void carry(const Sums<T>& sums, const float* scale, const ThreadPosition& position, Carried<T>& carried) {
    RETRACE_UNROLL
    for (std::uint32_t mt = 0; mt < T::kMTiles; ++mt) {
        RETRACE_UNROLL
        for (std::uint32_t nt = 0; nt < T::kNTiles; ++nt) {
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) {
                const float v = sums.combined(mt, nt, i) * scale[row_in_tile(position, mt, i)];
                carried[mt][nt][i] = fma32(v, scale[T::kM + col_in_tile(position, nt, i)], carried[mt][nt][i]);
            }
        }
    }
}

template <class T>
__device__ void store(const Product& p, const ThreadPosition& position, const Carried<T>& carried) {
    float* const c = p.c + position.matrix * p.m * p.n;
    RETRACE_UNROLL
    for (std::uint32_t mt = 0; mt < T::kMTiles; ++mt) {
        RETRACE_UNROLL
        for (std::uint32_t nt = 0; nt < T::kNTiles; ++nt) {
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::uint64_t row = position.row + row_in_tile(position, mt, i);
                const std::uint64_t col = position.col + col_in_tile(position, nt, i);
                if (row < p.m && col < p.n) c[row * p.n + col] = finish(carried[mt][nt][i]);
            }
        }
    }
}

template <class T>
__device__ void product(const Product& p) {
    if (block_number() >= p.tiles) return;
    typename T::Shared& shared = shared_as<typename T::Shared>();
    const ThreadPosition position = position_of<T>(p);
    const std::uint64_t steps = p.chunks * (kUnitK / T::kK);
    float next_scale = own_scale<T::kM, T::kN>(p, position.matrix, position.row, position.col, 0);
    for (std::uint32_t s = 0; s + 1 < T::kStages; ++s) {
        if (s < steps) fetch_stage<T>(p, position, s, shared);
        copy_commit();
    }
    Sums<T> sums;
    Carried<T> carried = {};
    sums.clear();
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t block = step / T::kStepsABlock;
        if (step % T::kStepsABlock == 0) {
            if (threadIdx.x < T::kM + T::kN) shared.scale[block % 2][threadIdx.x] = next_scale;
            next_scale = own_scale<T::kM, T::kN>(p, position.matrix, position.row, position.col, block + 1);
        }
        copy_wait<T::kStages - 2>();
        __syncthreads();  // this stage has arrived, and the previous one is free
        if (step + T::kStages - 1 < steps) fetch_stage<T>(p, position, step + T::kStages - 1, shared);
        copy_commit();
        RETRACE_UNROLL
        for (std::uint32_t k = 0; k < T::kK; k += 32) {
            multiply_step<T>(shared, position, static_cast<std::uint32_t>(step % T::kStages), k, sums);
        }
        if ((step + 1) % T::kStepsABlock == 0 || step + 1 == steps) {
            carry<T>(sums, shared.scale[block % 2], position, carried);
            sums.clear();
        }
    }
    copy_wait<0>();
    store<T>(p, position, carried);
}

constexpr std::uint32_t kTuringShared = 64 * 1024;  ///< Maximum for a block of compute capability 7.5.

template <class T>
__global__ void __launch_bounds__(kThreads, 1) product_kernel(Product p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    // A shape that does not fit is never launched on 7.5, and its registers would spill, so it is not compiled for it.
    // If this code runs on a newer device anyway, it must end in an error.
    if constexpr (sizeof(typename T::Shared) <= kTuringShared) {
        product<T>(p);
    } else {
        __trap();
    }
#else
    product<T>(p);
#endif
}

template <class T>
void multiply_as(Stream stream, Product p, std::uint64_t batch) {
    p.tiles_m = (p.m + T::kM - 1) / T::kM;
    p.tiles_n = (p.n + T::kN - 1) / T::kN;
    p.tiles = batch * p.tiles_m * p.tiles_n;
    const Grid grid{p.tiles, kThreads, static_cast<std::uint32_t>(sizeof(typename T::Shared))};
    launch(stream, grid, product_kernel<T>, p);
}

template <std::uint32_t S>
void choose(Stream stream, const Product& p, std::uint64_t batch, std::uint32_t shared_limit) {
    using Large = Shape<S, 128, 64, 3>;
    using Middle = Shape<S, 128, 64, 2>;               // for the 99 KiB of 8.6, 8.9 and 12.0
    using Small = Shape<S, S == 2 ? 64 : 128, 32, 2>;  // 128 rows spill two registers where S is 2 (nvcc 12.4)
    static_assert(sizeof(typename Middle::Shared) <= 99 * 1024, "compute capability 8.6");
    static_assert(sizeof(typename Small::Shared) <= kTuringShared, "compute capability 7.5");
    if (shared_limit >= sizeof(typename Large::Shared)) return multiply_as<Large>(stream, p, batch);
    if (shared_limit >= sizeof(typename Middle::Shared)) return multiply_as<Middle>(stream, p, batch);
    multiply_as<Small>(stream, p, batch);
}

}  // namespace

void multiply_slices(Stream stream, Precision precision, Slices a, Slices b, float* c, std::uint64_t batch,
                     std::uint64_t m, std::uint64_t n, std::uint64_t k, ProductUnit unit) {
    Product p{};
    p.a = a, p.b = b, p.c = c, p.m = m, p.n = n;
    p.order_a = DigitOrder::of(batch, m, k), p.order_b = DigitOrder::of(batch, n, k);
    p.chunks = p.order_a.chunks, p.blocks = matmul_blocks(k);
    if (unit.warpgroups) return multiply_slices_hopper(stream, precision, p, batch, unit.multiprocessors);
    switch (precision) {
        case Precision::i8x1: return choose<1>(stream, p, batch, unit.shared_limit);
        case Precision::i8x2: return choose<2>(stream, p, batch, unit.shared_limit);
        case Precision::i8x3: return choose<3>(stream, p, batch, unit.shared_limit);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
