// SPDX-License-Identifier: MIT
// Hopper's bulk copies into shared memory, the barriers in shared memory that they complete (PTX: cp.async.bulk,
// mbarrier) and clusters of blocks, whose shared memory one bulk copy can fill at once (sm_90 and newer).
#pragma once

#include "kernels/cuda/device.hpp"

namespace retrace::kernels::cuda {

/// Returns the address within the shared window.
__device__ inline std::uint32_t shared_address(const void* p) {
#if defined(__CUDACC__)
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
#else
    return emulation::shared_address(p);
#endif
}

/// A barrier in shared memory (mbarrier). A phase ends when the expected number of arrivals and of bytes is reached;
/// phases have parity 0, 1, 0, …
struct alignas(8) SharedBarrier {
    std::uint64_t state;
};

#if !defined(__CUDACC__) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ inline void barrier_init(SharedBarrier& barrier, std::uint32_t arrivals) {
#if defined(__CUDACC__)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
#else
    emulation::barrier_init(&barrier, arrivals);
#endif
}
/// Makes initialised barriers visible to the cluster and to bulk copies, before a barrier of the cluster.
__device__ inline void publish_barriers() {
#if defined(__CUDACC__)
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
#endif
}
/// Arrives, and adds `bytes` to those that the phase expects from bulk copies.
__device__ inline void barrier_expect(SharedBarrier& barrier, std::uint32_t bytes) {
#if defined(__CUDACC__)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(&barrier)), "r"(bytes)
                 : "memory");
#else
    emulation::barrier_expect(&barrier, bytes);
#endif
}
/// Arrives at the same barrier of block `rank` of the cluster.
__device__ inline void barrier_arrive(SharedBarrier& barrier, std::uint32_t rank) {
#if defined(__CUDACC__)
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(shared_address(&barrier)),
        "r"(rank)
        : "memory");
#else
    emulation::barrier_arrive(&barrier, rank);
#endif
}
/// Waits for the end of the phase of that parity. On a new barrier the phase before the first one, of parity 1, has
/// ended.
__device__ inline void barrier_wait(SharedBarrier& barrier, std::uint32_t parity) {
#if defined(__CUDACC__)
    std::uint32_t ended = 0;
    while (ended == 0) {
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
            : "=r"(ended)
            : "r"(shared_address(&barrier)), "r"(parity)
            : "memory");
    }
#else
    emulation::barrier_wait(&barrier, parity);
#endif
}

/// Starts a copy of `bytes` (a multiple of 16; both addresses too) into shared memory, to the same place in every block
/// of the cluster whose bit is set in `blocks`; it completes that many bytes of `barrier` in each of them.
template <std::uint32_t kCluster>
__device__ void bulk_copy(void* to, const void* from, std::uint32_t bytes, SharedBarrier& barrier,
                          [[maybe_unused]] std::uint16_t blocks) {
#if defined(__CUDACC__)
    if constexpr (kCluster == 1) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(
                         shared_address(to)),
                     "l"(from), "r"(bytes), "r"(shared_address(&barrier))
                     : "memory");
    } else {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%0], [%1], %2, [%3], %4;\n" ::"r"(shared_address(to)),
            "l"(from), "r"(bytes), "r"(shared_address(&barrier)), "h"(blocks)
            : "memory");
    }
#else
    emulation::bulk_copy(to, from, bytes, &barrier, kCluster == 1 ? 1 << emulation::cluster_rank() : blocks);
#endif
}

/// Returns the number of this block within its cluster.
__device__ inline std::uint32_t cluster_rank() {
#if defined(__CUDACC__)
    std::uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    return rank;
#else
    return emulation::cluster_rank();
#endif
}
/// Waits for all threads of all blocks of the cluster.
__device__ inline void cluster_barrier() {
#if defined(__CUDACC__)
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n" ::: "memory");
#else
    emulation::cluster_barrier();
#endif
}

/// Changes the registers of each thread of this warpgroup to `kCount`, a multiple of 8, from fewer (`kMore`) or more.
template <std::uint32_t kCount, bool kMore>
__device__ void set_registers() {
#if defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (kMore) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kCount));
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kCount));
    }
#endif
}

#endif

}  // namespace retrace::kernels::cuda
