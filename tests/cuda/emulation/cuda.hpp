// SPDX-License-Identifier: MIT
// If the compiler includes this before a .cu file (-include), g++ compiles the file for the host: it defines the parts
// of CUDA C++ that kernels/cuda uses, with every device thread as a fiber of one host thread. Barriers and shuffles
// switch fibers; fragments are distributed over the lanes of a warp as in the PTX manual. It checks the logic: indices,
// order, barriers, layouts. It does not test nvcc, memory models or speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define RETRACE_CUDA_EMULATION 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __trap() ::retrace::emulation::trap()

struct CUstream_st;

namespace retrace::emulation {

struct Index3 {
    unsigned x = 0, y = 0, z = 0;
};
inline Index3 thread_index, block_index, block_extent, grid_extent;  ///< Indices of the running fiber.

struct Launch {
    std::uint64_t across = 0, down = 0;
    unsigned threads = 0, cluster = 1;  ///< Threads a block; blocks a cluster, 1 or 2, which run side by side.
    std::size_t shared = 0;
};
/// Runs `body` as every thread of every block, or records it while the stream is being captured. Grids that a device
/// refuses end the process: more than 2^31 - 1 blocks across (or than Settings::blocks_across), more than 65535 down,
/// or parts of clusters.
void launch(CUstream_st* stream, Launch launch, std::function<void()> body);

/// Shared memory above 48 KiB must be requested. Recorded launches are checked against the last request, so a kernel
/// that takes different amounts ends the process.
void ask_for_shared(const void* kernel, std::size_t shared);

[[noreturn]] void trap();

/// Returns the block's shared memory, which is filled with 0xcd before the block starts.
void* shared_memory();
void barrier();

/// All lanes of the warp pass `size` bytes (at most 64) and receive those of lanes 0, 1, … 31, 64 bytes apart; the
/// result is valid until the lane's next exchange but one.
const unsigned char* exchange(const void* mine, std::size_t size);

// Tensor cores and asynchronous copies. A copy takes effect when it is waited for, not before.
void mma_m16n8k32(std::int32_t (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void mma_m8n8k16(std::int32_t& c0, std::int32_t& c1, std::uint32_t a, std::uint32_t b);
void load_matrices(std::uint32_t (&out)[4], const void* row);
void copy_16(void* to, const void* from);
void copy_commit();
void copy_wait(unsigned pending);

// Warpgroup products read shared memory when they are waited for, so overwriting a tile too early is detected.
std::uint32_t shared_address(const void* p);  ///< Relative to an odd base, as on a device.
void warpgroup_product(std::int32_t* sums, unsigned columns, std::uint64_t a, std::uint64_t b, bool accumulate);
void products_commit();
void products_wait(unsigned pending);  ///< Until at most so many groups are in flight.

// Barriers in shared memory, and bulk copies that complete them. In the ascending order of threads a copy takes effect
// at once, in the descending one as late as possible: when no thread can go on without it.
void barrier_init(void* barrier, std::uint32_t arrivals);
void barrier_expect(void* barrier, std::uint32_t bytes);  ///< Arrives, too.
void barrier_arrive(void* barrier, std::uint32_t rank);
void barrier_wait(void* barrier, std::uint32_t parity);
void bulk_copy(void* to, const void* from, std::uint32_t bytes, void* barrier, unsigned blocks);
std::uint32_t cluster_rank();
void cluster_barrier();

/// Test settings: 75 or 80 (which mma and copies are used), the order in which threads of a block run between barriers
/// (a missing barrier shows in one of the orders), and the maximum number of blocks across a grid (a small one reveals
/// kernels that ignore rows of blocks, or blocks beyond the last).
enum class Order { ascending, descending };
struct Settings {
    unsigned architecture = 80;
    Order order = Order::ascending;
    std::uint64_t blocks_across = 0x7fffffff;
};
inline Settings settings;

template <class T>
T lane_value(T mine, unsigned lane) {
    T out;
    std::memcpy(&out, exchange(&mine, sizeof mine) + std::size_t{64} * (lane % 32), sizeof out);
    return out;
}

inline unsigned lane() { return thread_index.x % 32; }

}  // namespace retrace::emulation

#define threadIdx ::retrace::emulation::thread_index
#define blockIdx ::retrace::emulation::block_index
#define blockDim ::retrace::emulation::block_extent
#define gridDim ::retrace::emulation::grid_extent

inline void __syncthreads() { retrace::emulation::barrier(); }
inline void __syncwarp() { retrace::emulation::exchange("", 0); }

template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, unsigned width = 32) {
    const unsigned own = retrace::emulation::lane(), other = own + delta;
    return retrace::emulation::lane_value(value, other / width == own / width ? other : own);
}

template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
    return retrace::emulation::lane_value(value, retrace::emulation::lane() ^ mask);
}

inline unsigned __ballot_sync(unsigned, int predicate) {
    const unsigned char* all = retrace::emulation::exchange(&predicate, sizeof predicate);
    unsigned out = 0;
    for (unsigned i = 0; i < 32; ++i) {
        int value = 0;
        std::memcpy(&value, all + std::size_t{64} * i, sizeof value);
        out |= static_cast<unsigned>(value != 0) << i;
    }
    return out;
}

inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
