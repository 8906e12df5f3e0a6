// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#if defined(__x86_64__)

#include "kernels/matmul/amx_unit.hpp"

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_amx(Precision precision) { return amx_kernel<AmxUnit>(precision); }

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_amx(Precision) { return nullptr; }

}  // namespace retrace::kernels

#endif
