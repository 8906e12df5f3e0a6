// SPDX-License-Identifier: MIT
#if defined(__x86_64__)

#include "kernels/ops/cpu/simd_avx512.hpp"

namespace retrace::kernels {

Loops loops_avx512() { return loops_with_hand<HandLanesAvx512>(); }

}  // namespace retrace::kernels

#endif
