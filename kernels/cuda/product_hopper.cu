// SPDX-License-Identifier: MIT
// Products of sliced operands by Hopper's warpgroup instructions: two groups of four warps, 64 rows of the tile each,
// with both operands in swizzled shared memory. Otherwise like product.cu.
#include "kernels/cuda/product.hpp"
#include "kernels/cuda/tensor_core.hpp"
#include "kernels/cuda/warpgroup.hpp"

namespace retrace::kernels::cuda {
namespace {

template <std::uint32_t S_>
struct Shape {
    static constexpr std::uint32_t S = S_, kStages = 3, kM = 128, kN = S == 3 ? 64 : 128;

    struct Shared {
        std::int8_t a[kStages][S][kM * kSwizzleRow], b[kStages][S][kN * kSwizzleRow];
        float scale[2][kM + kN];  ///< Scales of this block and of the next.
    };
};
constexpr std::uint32_t kAlignment = 1024;  ///< Alignment of a swizzled tile in bytes.

#if defined(RETRACE_HAS_WARPGROUPS)

constexpr std::uint32_t kStepsABlock = kBlockK / kSwizzleRow;
template <class T>
constexpr std::uint32_t kSums = T::kN / 2;  ///< Sums of a thread.

template <class T>
__device__ typename T::Shared& aligned_shared() {
    std::int8_t& base = shared_as<std::int8_t>();
    const std::uint32_t over = shared_address(&base) % kAlignment;
    return *reinterpret_cast<typename T::Shared*>(&base + (over == 0 ? 0 : kAlignment - over));
}

struct alignas(16) Zeros {
    std::int32_t word[4];
};

/// Starts the copies of one operand's part of a stage. Digits beyond the padded K are zeros, because products have no
/// remainder.
template <std::uint32_t S, std::uint32_t kVectors>
__device__ void fetch(const std::int8_t* digits, std::uint64_t plane, std::uint64_t padded, std::uint64_t first,
                      std::uint64_t vectors, std::uint64_t k, std::int8_t (&to)[S][kVectors * kSwizzleRow]) {
    constexpr std::uint32_t kChunks = kSwizzleRow / 16, kCopies = S * kVectors * kChunks;
    static_assert(kCopies % kThreads == 0, "every thread copies as often");
    RETRACE_KEEP_LOOP  // the sums occupy the registers, so the loop is not unrolled
        for (std::uint32_t begin = 0; begin < kCopies; begin += kThreads) {
        const std::uint32_t index = begin + threadIdx.x, chunk = index % kChunks;
        const std::uint32_t t = index / (kVectors * kChunks), v = index / kChunks % kVectors;
        if (k + chunk * 16 >= padded) {
            *reinterpret_cast<Zeros*>(&to[t][swizzled(v, chunk)]) = Zeros{};
            continue;
        }
        const std::uint64_t vector = smaller<std::uint64_t>(first + v, vectors - 1);
        copy_16(&to[t][swizzled(v, chunk)], digits + t * plane + vector * padded + k + chunk * 16);
    }
}

template <class T>
__device__ void fetch_stage(const Product& p, const TileIndex& tile, std::uint64_t step, typename T::Shared& shared) {
    const std::uint64_t k = step * kSwizzleRow;
    const std::uint32_t stage = static_cast<std::uint32_t>(step % T::kStages);
    fetch<T::S, T::kM>(p.a.digits + tile.matrix * p.m * p.padded, p.plane_a, p.padded, tile.m * T::kM, p.m, k,
                       shared.a[stage]);
    fetch<T::S, T::kN>(p.b.digits + tile.matrix * p.n * p.padded, p.plane_b, p.padded, tile.n * T::kN, p.n, k,
                       shared.b[stage]);
}

/// S_g of contract 4.3 for one stage; if `fresh`, the sums start from zero.
template <class T>
__device__ void multiply_stage(const typename T::Shared& shared, std::uint32_t stage, std::uint32_t group, bool fresh,
                               std::int32_t (&sums)[T::S][kSums<T>]) {
    products_begin();
    RETRACE_UNROLL
    for (std::uint32_t k = 0; k < kSwizzleRow; k += 32) {
        RETRACE_UNROLL
        for (std::uint32_t t = 0; t < T::S; ++t) {
            const std::uint64_t a = tile_descriptor(&shared.a[stage][t][group * 64 * kSwizzleRow + k]);
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

template <class T>
__device__ void multiply_tile(const Product& p) {
    if (block_number() >= p.tiles) return;
    typename T::Shared& shared = aligned_shared<T>();
    const TileIndex tile = tile_of(block_number(), p.tiles_m, p.tiles_n);
    const std::uint64_t row = tile.m * T::kM, col = tile.n * T::kN, steps = (p.padded + kSwizzleRow - 1) / kSwizzleRow;
    float next_scale = own_scale<T::kM, T::kN>(p, tile.matrix, row, col, 0);
    for (std::uint32_t s = 0; s + 1 < T::kStages; ++s) {
        if (s < steps) fetch_stage<T>(p, tile, s, shared);
        copy_commit();
    }
    // The first products overwrite the zeros. Uninitialised sums would make ptxas 12.4 wait after every product.
    std::int32_t sums[T::S][kSums<T>] = {};
    float carried[kSums<T>];
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kSums<T>; ++i) carried[i] = 0.0f;
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t block = step / kStepsABlock;
        if (step % kStepsABlock == 0) {
            if (threadIdx.x < T::kM + T::kN) shared.scale[block % 2][threadIdx.x] = next_scale;
            next_scale = own_scale<T::kM, T::kN>(p, tile.matrix, row, col, block + 1);
        }
        copy_wait<T::kStages - 2>();
        publish_shared();
        __syncthreads();  // this stage has arrived, and the previous one is free
        multiply_stage<T>(shared, static_cast<std::uint32_t>(step % T::kStages), threadIdx.x / 128,
                          step % kStepsABlock == 0, sums);
        if (step + T::kStages - 1 < steps) fetch_stage<T>(p, tile, step + T::kStages - 1, shared);
        copy_commit();
        products_wait(sums);
        if ((step + 1) % kStepsABlock != 0 && step + 1 != steps) continue;
        const float* const scale = shared.scale[block % 2];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kSums<T>; ++i) {
            const float u = combined_sums<T::S>(sums[0][i], sums[T::S > 1 ? 1 : 0][i], sums[T::S - 1][i]);
            const float v = u * scale[row_in_tile(i)];
            carried[i] = fma32(v, scale[T::kM + col_in_tile(i)], carried[i]);
        }
    }
    copy_wait<0>();
    float* const c = p.c + tile.matrix * p.m * p.n;
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < kSums<T>; ++i) {
        const std::uint64_t y = row + row_in_tile(i), x = col + col_in_tile(i);
        if (y < p.m && x < p.n) c[y * p.n + x] = finish(carried[i]);
    }
}

#endif  // RETRACE_HAS_WARPGROUPS

template <class T>
__global__ void __launch_bounds__(kThreads, 1) hopper_kernel([[maybe_unused]] Product p) {
#if defined(RETRACE_HAS_WARPGROUPS)
    multiply_tile<T>(p);
#else
    __trap();  // built without the instructions: fail instead of leaving C unchanged
#endif
}

template <class T>
void multiply_as(Stream stream, Product p, std::uint64_t batch) {
    static_assert(sizeof(typename T::Shared) + kAlignment <= 227 * 1024, "a block's shared memory on Hopper");
    p.tiles_m = (p.m + T::kM - 1) / T::kM;
    p.tiles_n = (p.n + T::kN - 1) / T::kN;
    const auto shared = static_cast<std::uint32_t>(sizeof(typename T::Shared) + kAlignment);
    p.tiles = batch * p.tiles_m * p.tiles_n;
    launch(stream, Grid{p.tiles, kThreads, shared}, hopper_kernel<T>, p);
}

}  // namespace

void multiply_slices_hopper(Stream stream, Precision precision, const Product& product, std::uint64_t batch) {
    switch (precision) {
        case Precision::i8x1: return multiply_as<Shape<1>>(stream, product, batch);
        case Precision::i8x2: return multiply_as<Shape<2>>(stream, product, batch);
        case Precision::i8x3: return multiply_as<Shape<3>>(stream, product, batch);
        case Precision::f32: break;
    }
}

}  // namespace retrace::kernels::cuda
