// SPDX-License-Identifier: MIT
#if defined(__x86_64__)

#include "kernels/ops/cpu/simd_avx2.hpp"

namespace retrace::kernels {

Loops loops_avx2() { return loops_with_hand<HandLanesAvx2>(); }

}  // namespace retrace::kernels

#endif
