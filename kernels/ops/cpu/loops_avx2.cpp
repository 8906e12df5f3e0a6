// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/simd_avx2.hpp"

namespace retrace::kernels {

Loops loops_avx2() { return loops_with_hand<HandLanesAvx2>(); }

}  // namespace retrace::kernels
