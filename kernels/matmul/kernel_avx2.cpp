// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__x86_64__)

#include "kernels/matmul/lanes_avx2.hpp"
#include "kernels/matmul/words.hpp"

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_avx2(Precision precision) {
    // Rows × registers are chosen to fill the register file: accumulators, the columns of B, one broadcast, one
    // product.
    static constexpr MatmulKernel f32 = Words<LanesAvx2, 0>::kernel<6, 2>();
    static constexpr MatmulKernel i8x1 = Words<LanesAvx2, 1>::kernel<6, 2>();
    static constexpr MatmulKernel i8x2 = Words<LanesAvx2, 2>::kernel<6, 2>();
    static constexpr MatmulKernel i8x3 = Words<LanesAvx2, 3>::kernel<6, 1>();
    return kernel_of(precision, &f32, &i8x1, &i8x2, &i8x3);
}

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_avx2(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
