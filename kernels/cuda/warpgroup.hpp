// SPDX-License-Identifier: MIT
// Hopper's warpgroup products on int8 (PTX: wgmma, sm_90a only): both operands are in shared memory, given by
// descriptors, and the sums are in the registers of 128 threads.
#pragma once

#include "kernels/cuda/bulk_copy.hpp"
#include "kernels/cuda/digits.hpp"

// In nvcc's passes for other devices the kernel is one trap.
#if !defined(__CUDACC__) || !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RETRACE_HAS_WARPGROUPS 1
#endif

namespace retrace::kernels::cuda {

/// Returns the matrix descriptor of units that follow each other. `at` may be 32 bytes into the first unit, for the
/// second half of its digits.
__device__ inline std::uint64_t tile_descriptor(const std::int8_t* at) { return descriptor_at(shared_address(at)); }

#if defined(RETRACE_HAS_WARPGROUPS)

/// Must precede the first product that uses registers written by other instructions.
__device__ inline void products_begin() {
#if defined(__CUDACC__)
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}
/// Ends the group of products.
__device__ inline void products_commit() {
#if defined(__CUDACC__)
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#else
    emulation::products_commit();
#endif
}
/// Waits for all groups of products but the last, whose tiles alone must still be kept.
__device__ inline void products_wait_but_one() {
#if defined(__CUDACC__)
    asm volatile("wgmma.wait_group.sync.aligned 1;\n" ::: "memory");
#else
    emulation::products_wait(1);
#endif
}
/// Waits for all products; afterwards their sums may be read and their tiles overwritten. The compiler does not know
/// that products end here, so the asm statements tell it that the sums are written now.
template <std::uint32_t S, std::uint32_t N>
__device__ void products_wait([[maybe_unused]] std::int32_t (&sums)[S][N]) {
#if defined(__CUDACC__)
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < S * N; ++i) asm volatile("" : "+r"(sums[i / N][i % N])::"memory");
#else
    emulation::products_wait(0);
#endif
}

/// Computes d += a · b (d = a · b if `accumulate` is 0) for 64 rows of A, N columns of B and 32 bytes of K. Element
/// 4·j + i of d is at row 16·(warp % 4) + lane / 4 + 8·(i / 2), column 8·j + 2·(lane % 4) + i % 2.
__device__ inline void warpgroup_product(std::int32_t (&d)[64], std::uint64_t a, std::uint64_t b,
                                         std::int32_t accumulate) {
#if defined(__CUDACC__)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, p;\n}\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),
          "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]),
          "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]),
          "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]),
          "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]),
          "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]),
          "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
        : "l"(a), "l"(b), "r"(accumulate));
#else
    emulation::warpgroup_product(d, 128, a, b, accumulate != 0);
#endif
}
__device__ inline void warpgroup_product(std::int32_t (&d)[48], std::uint64_t a, std::uint64_t b,
                                         std::int32_t accumulate) {
#if defined(__CUDACC__)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
        "}, %48, %49, p;\n}\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),
          "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]),
          "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]),
          "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]),
          "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])
        : "l"(a), "l"(b), "r"(accumulate));
#else
    emulation::warpgroup_product(d, 96, a, b, accumulate != 0);
#endif
}
__device__ inline void warpgroup_product(std::int32_t (&d)[32], std::uint64_t a, std::uint64_t b,
                                         std::int32_t accumulate) {
#if defined(__CUDACC__)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, p;\n}\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),
          "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]),
          "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
        : "l"(a), "l"(b), "r"(accumulate));
#else
    emulation::warpgroup_product(d, 64, a, b, accumulate != 0);
#endif
}

#endif  // RETRACE_HAS_WARPGROUPS

}  // namespace retrace::kernels::cuda
