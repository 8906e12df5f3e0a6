// SPDX-License-Identifier: MIT
// Shared by the kernels of this folder. C++17, because .cu files include it, through nvcc or through the host emulation
// of tests/cuda, which defines __global__, threadIdx and the like before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/stream.hpp"

#if defined(__CUDACC__)
#define RETRACE_UNROLL _Pragma("unroll")
#define RETRACE_KEEP_LOOP _Pragma("unroll 1")
#else
#define RETRACE_UNROLL
#define RETRACE_KEEP_LOOP
#endif

namespace retrace::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr std::uint32_t kThreads = 256;  ///< Default number of threads of a block.

struct Grid {
    std::uint64_t blocks = 0;
    std::uint32_t threads = kThreads;
    std::uint32_t shared = 0;   ///< Bytes of shared memory a block.
    std::uint32_t cluster = 1;  ///< Blocks a cluster, which the kernel's own attribute says too.
};

/// Returns a grid of blocks of `threads` threads that cover `n`.
inline Grid grid_for(std::uint64_t n, std::uint32_t threads = kThreads) {
    return Grid{(n + threads - 1) / threads, threads, 0};
}

/// Maximum extents of a grid on any device: blocks across, and rows of blocks.
inline constexpr std::uint64_t kBlocksAcross = 0x7fffffff, kBlocksDown = 0xffff;
struct Extents {
    std::uint64_t across = 0, down = 0;
};
/// Returns extents of at least `blocks` (not 0) blocks, at most `most` across. Surplus blocks have nothing to do:
/// kernels compare block_number() or global_thread() with their limit.
inline Extents extents_of(std::uint64_t blocks, std::uint64_t most = kBlocksAcross) {
    const std::uint64_t down = (blocks - 1) / most + 1;
    return Extents{(blocks - 1) / down + 1, down};
}

/// Queues a kernel; an empty grid is not launched. Failures stay with the runtime until `finish` reports them. A kernel
/// that takes more than 48 KiB of shared memory must take the same amount in every launch, because the limit is a
/// property of the kernel, and recorded launches are held to the last one that was set.
template <class... Parameters, class... Arguments>
void launch(Stream stream, Grid grid, void (*kernel)(Parameters...), Arguments... arguments) {
    if (grid.blocks == 0) return;
#if defined(__CUDACC__)
    if (grid.shared > 48 * 1024) {
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared));
    }
    const Extents extents = extents_of(grid.blocks);
    // The runtime refuses too many rows of blocks; the number must not wrap.
    const auto down = static_cast<unsigned>(extents.down > kBlocksDown ? kBlocksDown + 1 : extents.down);
    kernel<<<dim3(static_cast<unsigned>(extents.across), down), dim3(grid.threads), grid.shared, stream>>>(
        static_cast<Parameters>(arguments)...);
#else
    emulation::ask_for_shared(reinterpret_cast<const void*>(kernel), grid.shared);
    const Extents extents = extents_of(grid.blocks, emulation::settings.blocks_across);
    emulation::launch(stream, {extents.across, extents.down, grid.threads, grid.cluster, grid.shared},
                      [=] { kernel(static_cast<Parameters>(arguments)...); });
#endif
}

/// Returns the block's shared memory as a T.
template <class T>
__device__ T& shared_as() {
#if defined(__CUDACC__)
    extern __shared__ __align__(16) unsigned char retrace_shared_memory[];
    return *reinterpret_cast<T*>(retrace_shared_memory);
#else
    return *static_cast<T*>(emulation::shared_memory());
#endif
}

/// Returns the number of this block; it may exceed the requested blocks (`extents_of`).
__device__ inline std::uint64_t block_number() {
    return static_cast<std::uint64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
}

__device__ inline std::uint64_t global_thread() { return block_number() * blockDim.x + threadIdx.x; }

template <class T>
__host__ __device__ T smaller(T a, T b) {
    return a < b ? a : b;
}

}  // namespace retrace::kernels::cuda
