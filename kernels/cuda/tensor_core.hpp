// SPDX-License-Identifier: MIT
// Tensor cores on int8 and asynchronous copies into shared memory: PTX with nvcc, the same semantics in the host
// emulation. Compute capability 7.5 has only the small product and copies through registers.
#pragma once

#include "kernels/cuda/device.hpp"

namespace retrace::kernels::cuda {

/// c += a · b for a fragment of 16×32 by 32×8 signed bytes, exact in int32 (PTX: mma.m16n8k32, row.col).
__device__ inline void multiply_add(std::int32_t (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    // The large fragment consists of four small ones (m8n8k16), register by register.
    const auto small = [](std::int32_t& c0, std::int32_t& c1, std::uint32_t a_word, std::uint32_t b_word) {
#if defined(__CUDACC__)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};\n"
                     : "+r"(c0), "+r"(c1)
                     : "r"(a_word), "r"(b_word));
#else
        emulation::mma_m8n8k16(c0, c1, a_word, b_word);
#endif
    };
#if !defined(__CUDACC__)
    if (emulation::settings.architecture >= 80) return emulation::mma_m16n8k32(c, a, b);
#endif
    small(c[0], c[1], a[0], b[0]);
    small(c[2], c[3], a[1], b[0]);
    small(c[0], c[1], a[2], b[1]);
    small(c[2], c[3], a[3], b[1]);
#endif
}

/// Loads four 8×16-byte matrices from shared memory: lane l gives the address of row l % 8 of matrix l / 8 (16 bytes,
/// aligned) and receives bytes 4·(l % 4) .. +3 of row l / 4 of each (PTX: ldmatrix.x4).
__device__ inline void load_matrices(std::uint32_t (&out)[4], const std::int8_t* row) {
#if defined(__CUDACC__)
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
#else
    emulation::load_matrices(out, row);
#endif
}

/// Copies 16 bytes from global to shared memory, both aligned; they are available after `copy_wait` and a barrier.
__device__ inline void copy_16(std::int8_t* to, const std::int8_t* from) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(from) : "memory");
#elif defined(__CUDACC__)
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
#else
    emulation::copy_16(to, from);
#endif
}

/// Ends a group of this thread's copies.
__device__ inline void copy_commit() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;\n" ::: "memory");
#elif !defined(__CUDACC__)
    emulation::copy_commit();
#endif
}

/// Waits until at most `pending` groups of this thread's copies are in flight.
template <unsigned pending>
__device__ void copy_wait() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;\n" ::"n"(pending) : "memory");
#elif !defined(__CUDACC__)
    emulation::copy_wait(pending);
#endif
}

}  // namespace retrace::kernels::cuda
