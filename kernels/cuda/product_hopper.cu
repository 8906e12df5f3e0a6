// SPDX-License-Identifier: MIT
// Products of sliced operands by Hopper's warpgroup instructions (contract 4.3, 4.4). One warp fetches: bulk copies fill
// a ring of stages, 64 digits of K each. Two groups of four warps compute, 64 rows of the tile each, and release a stage
// when their products of it are done; one of them carries its sums over while the other one's products run. Blocks stay
// until no tile is left, so a tile is stored while the next one's stages arrive. Two blocks of a cluster take tiles that
// are neighbours along M and fetch half of their common columns of B each, for both.
#include "kernels/cuda/product.hpp"
#include "kernels/cuda/warpgroup.hpp"

namespace retrace::kernels::cuda {
namespace {

template <std::uint32_t S_, std::uint32_t kN_, std::uint32_t kStages_, std::uint32_t kCluster_>
struct Shape {
    static constexpr std::uint32_t S = S_, kM = 128, kN = kN_, kStages = kStages_, kCluster = kCluster_;
    // Registers of a thread of each kind: with others one of them spills. Together they may not exceed those that the
    // launch takes, 168 a thread: else the second group would wait for ever for registers that nobody gives back.
    static constexpr std::uint32_t kFetchRegisters = S == 3 ? 56 : 40, kComputeRegisters = S == 3 ? 224 : 232;
    static_assert(kFetchRegisters + 2 * kComputeRegisters <= 3 * 168);
    static_assert(kN / kCluster % kUnitVectors == 0, "every block of a cluster fetches whole units of B");

    struct Shared {
        std::int8_t a[kStages][S][kM * kUnitK], b[kStages][S][kN * kUnitK];
        float scale[kStages][kM + kN];  ///< In the last stage of each block of 256 digits.
        SharedBarrier full[kStages], empty[kStages];
    };
};
constexpr std::uint32_t kAlignment = 1024;  ///< At least that of a unit.
constexpr std::uint32_t kGroup = 128, kGroups = 2, kHopperThreads = (kGroups + 1) * kGroup;

#if defined(RETRACE_HAS_WARPGROUPS)

/// Rows of tiles in a band: as many blocks across as down are at work on 132 multiprocessors.
constexpr std::uint32_t kHopperBand = 12;

constexpr std::uint32_t kChunksABlock = kBlockK / kUnitK;
template <class T>
constexpr std::uint32_t kSums = T::kN / 2;  ///< Sums of a thread.

template <class T>
__device__ typename T::Shared& aligned_shared() {
    std::int8_t& base = shared_as<std::int8_t>();
    const std::uint32_t over = shared_address(&base) % kAlignment;
    return *reinterpret_cast<typename T::Shared*>(&base + (over == 0 ? 0 : kAlignment - over));
}

/// A position in the ring of stages; `parity` is that of the phase of the stage's barrier `full`.
template <std::uint32_t kStages>
struct Cursor {
    std::uint32_t stage = 0, parity = 0;
    __device__ void advance() {
        if (++stage == kStages) stage = 0, parity ^= 1;
    }
};

/// The numbers of the first tile of this block's cluster, and of clusters.
template <class T>
__device__ std::uint32_t first_tile() {
    return static_cast<std::uint32_t>(block_number()) / T::kCluster;
}
template <class T>
__device__ std::uint32_t tile_stride() {
    return gridDim.x * gridDim.y / T::kCluster;
}
template <class T>
__device__ TileIndex tile_at(const Product& p, std::uint32_t index) {
    TileIndex tile = tile_of(index, static_cast<std::uint32_t>(p.tiles_m), static_cast<std::uint32_t>(p.tiles_n),
                             kHopperBand / T::kCluster);
    tile.m = tile.m * T::kCluster + (T::kCluster == 1 ? 0 : cluster_rank());
    return tile;
}

/// The units of an operand that a block fetches for a tile, in the order of chunks. Units beyond the operand are left
/// out; their results are not stored.
struct Source {
    const std::int8_t* digits;  ///< In the next chunk.
    const float* scales;        ///< In the next chunk's block.
    std::uint32_t count;        ///< Units.

    __device__ Source(const Slices& slices, const DigitOrder& order, std::uint64_t blocks, std::uint64_t matrix,
                      std::uint64_t first, std::uint32_t most)
        : digits(slices.digits + order.unit(matrix, 0, first)),
          scales(slices.scales + order.scale(matrix, blocks, 0, first * kUnitVectors)),
          count(units_from(order, first, most)) {}

    static __device__ std::uint32_t units_from(const DigitOrder& order, std::uint64_t first, std::uint32_t most) {
        if (first >= order.groups) return 0;
        return static_cast<std::uint32_t>(smaller<std::uint64_t>(order.groups - first, most));
    }

    /// Starts the copies of the next chunk, and of the block's scales if it is the block's last one.
    template <std::uint32_t kCluster, std::uint32_t S, std::uint32_t kBytes>
    __device__ void fetch(const DigitOrder& order, std::int8_t (&to)[S][kBytes], std::uint32_t unit, float* scale,
                          bool last, SharedBarrier& full) {
        constexpr std::uint16_t kBlocks = (1u << kCluster) - 1;
        if (count != 0) {
            RETRACE_UNROLL
            for (std::uint32_t t = 0; t < S; ++t)
                bulk_copy<kCluster>(&to[t][unit * kUnit], digits + t * order.plane, count * kUnit, full, kBlocks);
            if (last) bulk_copy<kCluster>(scale + unit * kUnitVectors, scales, count * kUnitVectors * 4, full, kBlocks);
        }
        digits += order.groups * kUnit;
        if (last) scales += order.groups * kUnitVectors;
    }
};

/// The fetching thread.
template <class T>
__device__ void fetch_tiles(const Product& p, typename T::Shared& shared) {
    constexpr std::uint32_t kUnitsA = T::kM / kUnitVectors, kUnitsB = T::kN / kUnitVectors;
    constexpr std::uint32_t kOwn = kUnitsB / T::kCluster;
    const std::uint32_t begin = (T::kCluster == 1 ? 0 : cluster_rank()) * kOwn;
    Cursor<T::kStages> at;
    for (std::uint32_t index = first_tile<T>(); index < p.tiles; index += tile_stride<T>()) {
        const TileIndex tile = tile_at<T>(p, index);
        Source a(p.a, p.order_a, p.blocks, tile.matrix, tile.m * kUnitsA, kUnitsA);
        Source b(p.b, p.order_b, p.blocks, tile.matrix, tile.n * kUnitsB + begin, kOwn);
        const std::uint32_t units = a.count + Source::units_from(p.order_b, tile.n * kUnitsB, kUnitsB);
        for (std::uint32_t left = static_cast<std::uint32_t>(p.chunks), in_block = 1; left != 0; --left, ++in_block) {
            const bool last = in_block == kChunksABlock || left == 1;
            if (last) in_block = 0;
            SharedBarrier& full = shared.full[at.stage];
            barrier_wait(shared.empty[at.stage], at.parity ^ 1);
            barrier_expect(full, units * (T::S * kUnit + (last ? kUnitVectors * 4 : 0)));
            a.template fetch<1>(p.order_a, shared.a[at.stage], 0, shared.scale[at.stage], last, full);
            b.template fetch<T::kCluster>(p.order_b, shared.b[at.stage], begin, shared.scale[at.stage] + T::kM, last,
                                          full);
            at.advance();
        }
    }
}

/// S_g of contract 4.3 for one stage; if `fresh`, the sums start from zero.
template <class T>
__device__ void multiply_stage(const typename T::Shared& shared, std::uint32_t stage, std::uint32_t group, bool fresh,
                               std::int32_t (&sums)[T::S][kSums<T>]) {
    products_begin();
    RETRACE_UNROLL
    for (std::uint32_t k = 0; k < kUnitK; k += 32) {
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < T::S; ++t) {
            const std::uint64_t a = tile_descriptor(&shared.a[stage][t][group * 64 * kUnitK + k]);
            RETRACE_UNROLL
            for (std::uint32_t u = 0; u + t < T::S; ++u) {
                // dA_0 · dB_g is the first of the products that count towards g.
                const bool first = fresh && k == 0 && t == 0;
                warpgroup_product(sums[t + u], a, tile_descriptor(&shared.b[stage][u][k]), first ? 0 : 1);
            }
        }
    }
    products_commit();
}

/// Return row and column of the thread's element i within the tile.
__device__ std::uint32_t row_in_tile(std::uint32_t i) {
    return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
}
__device__ std::uint32_t col_in_tile(std::uint32_t i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

/// Tells the fetching threads of the cluster that this warp no longer reads the stage.
template <class T>
__device__ void release(typename T::Shared& shared, std::uint32_t stage) {
    __syncwarp();
    if (threadIdx.x % 32 < T::kCluster) barrier_arrive(shared.empty[stage], threadIdx.x % 32);
}

template <class T>
__device__ void store(const Product& p, const TileIndex& tile, const float (&carried)[kSums<T>]) {
    struct alignas(8) Two {
        float value[2];
    };
    float* const c = p.c + tile.matrix * p.m * p.n;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kSums<T>; i += 2) {
        const std::uint64_t y = tile.m * T::kM + row_in_tile(i), x = tile.n * T::kN + col_in_tile(i);
        if (y >= p.m) continue;
        const float first = finish(carried[i]), second = finish(carried[i + 1]);
        if (p.n % 2 == 0 && x < p.n) {
            *reinterpret_cast<Two*>(c + y * p.n + x) = Two{{first, second}};
        } else {
            if (x < p.n) c[y * p.n + x] = first;
            if (x + 1 < p.n) c[y * p.n + x + 1] = second;
        }
    }
}

/// The computing threads.
template <class T>
__device__ void compute_tiles(const Product& p, typename T::Shared& shared) {
    Cursor<T::kStages> at;
    // The first products overwrite the zeros. Uninitialised sums would make ptxas 12.4 wait after every product.
    std::int32_t sums[T::S][kSums<T>] = {};
    for (std::uint32_t index = first_tile<T>(); index < p.tiles; index += tile_stride<T>()) {
        float carried[kSums<T>];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kSums<T>; ++i) carried[i] = 0.0f;
        for (std::uint32_t left = static_cast<std::uint32_t>(p.chunks); left != 0;) {
            const std::uint32_t count = smaller(kChunksABlock, left);
            left -= count;
            std::uint32_t previous = 0;
            RETRACE_KEEP_LOOP
            for (std::uint32_t c = 0; c < count; ++c) {
                barrier_wait(shared.full[at.stage], at.parity);
                multiply_stage<T>(shared, at.stage, threadIdx.x / kGroup, c == 0, sums);
                if (c != 0) {
                    products_wait_but_one();
                    release<T>(shared, previous);
                }
                previous = at.stage;
                at.advance();
            }
            products_wait(sums);
            const float* const scale = shared.scale[previous];
            const float rows[2] = {scale[row_in_tile(0)], scale[row_in_tile(2)]};
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < kSums<T>; ++i) {
                const float u = combined_sums<T::S>(sums[0][i], sums[T::S > 1 ? 1 : 0][i], sums[T::S - 1][i]);
                const float v = u * rows[i / 2 % 2];
                carried[i] = fma32(v, scale[T::kM + col_in_tile(i)], carried[i]);
            }
            release<T>(shared, previous);
        }
        store<T>(p, tile_at<T>(p, index), carried);
    }
}

template <class T>
__device__ void multiply_tiles(const Product& p) {
    typename T::Shared& shared = aligned_shared<T>();
    if (threadIdx.x == 0) {
        for (std::uint32_t s = 0; s < T::kStages; ++s) {
            barrier_init(shared.full[s], 1);
            barrier_init(shared.empty[s], T::kCluster * kGroups * (kGroup / 32));
        }
        publish_barriers();
    }
    cluster_barrier();
    if (threadIdx.x >= kGroups * kGroup) {
        set_registers<T::kFetchRegisters, false>();
        if (threadIdx.x == kGroups * kGroup) fetch_tiles<T>(p, shared);
    } else {
        set_registers<T::kComputeRegisters, true>();
        compute_tiles<T>(p, shared);
    }
    cluster_barrier();  // no block ends while another one still copies into it or arrives at its barriers
}

#endif  // RETRACE_HAS_WARPGROUPS

// A cluster's extent is a property of the kernel's code for devices that have clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define RETRACE_CLUSTER(kCount)
#else
#define RETRACE_CLUSTER(kCount) __cluster_dims__(kCount, 1, 1)
#endif

template <class T>
__global__ void RETRACE_CLUSTER(T::kCluster) __launch_bounds__(kHopperThreads, 1)
    hopper_kernel([[maybe_unused]] Product p) {
#if defined(RETRACE_HAS_WARPGROUPS)
    multiply_tiles<T>(p);
#else
    __trap();  // built without the instructions: fail instead of leaving C unchanged
#endif
}

template <class T>
void multiply_as(Stream stream, Product p, std::uint64_t batch, std::uint32_t multiprocessors) {
    static_assert(sizeof(typename T::Shared) + kAlignment <= 227 * 1024, "a block's shared memory on Hopper");
    p.tiles_m = (p.m + T::kM * T::kCluster - 1) / (T::kM * T::kCluster);  // of clusters
    p.tiles_n = (p.n + T::kN - 1) / T::kN;
    p.tiles = batch * p.tiles_m * p.tiles_n;
    const std::uint64_t at_once = multiprocessors < T::kCluster ? 1 : multiprocessors / T::kCluster;
    Grid grid{smaller(p.tiles, at_once) * T::kCluster, kHopperThreads,
              static_cast<std::uint32_t>(sizeof(typename T::Shared) + kAlignment)};
    grid.cluster = T::kCluster;
    launch(stream, grid, hopper_kernel<T>, p);
}

/// Takes the tile that needs the least time: full waves of blocks, where a narrow tile takes about 2/3 of a wide one.
template <std::uint32_t S, std::uint32_t kWide, std::uint32_t kWideStages, std::uint32_t kNarrow,
          std::uint32_t kNarrowStages>
void choose(Stream stream, const Product& p, std::uint64_t batch, std::uint32_t multiprocessors) {
    const auto waves = [&](std::uint64_t columns) {
        const std::uint64_t tiles = batch * ((p.m + 127) / 128) * ((p.n + columns - 1) / columns);
        return (tiles + multiprocessors - 1) / (multiprocessors == 0 ? 1 : multiprocessors);
    };
    const std::uint64_t rows = (p.m + 127) / 128;
    // A row of tiles without a partner would leave a block of its cluster idle.
    const bool pairs = rows % 2 == 0 || rows >= 15;
    if (2 * waves(kNarrow) < 3 * waves(kWide)) {
        if (pairs) return multiply_as<Shape<S, kNarrow, kNarrowStages, 2>>(stream, p, batch, multiprocessors);
        return multiply_as<Shape<S, kNarrow, kNarrowStages, 1>>(stream, p, batch, multiprocessors);
    }
    if (pairs) return multiply_as<Shape<S, kWide, kWideStages, 2>>(stream, p, batch, multiprocessors);
    multiply_as<Shape<S, kWide, kWideStages, 1>>(stream, p, batch, multiprocessors);
}

}  // namespace

void multiply_slices_hopper(Stream stream, Precision precision, const Product& product, std::uint64_t batch,
                            std::uint32_t multiprocessors) {
    switch (precision) {
        case Precision::i8x1: return choose<1, 128, 8, 64, 8>(stream, product, batch, multiprocessors);
        case Precision::i8x2: return choose<2, 128, 6, 64, 8>(stream, product, batch, multiprocessors);
        case Precision::i8x3: return choose<3, 96, 5, 64, 6>(stream, product, batch, multiprocessors);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
