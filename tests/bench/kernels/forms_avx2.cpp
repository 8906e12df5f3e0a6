// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/simd_avx2.hpp"
#include "tests/bench/kernels/forms.hpp"

namespace retrace::bench {

LoopForms forms_avx2() { return {kernels::kLoops, kernels::Hand<kernels::HandLanesAvx2>::loop}; }

}  // namespace retrace::bench
