// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/simd_avx512.hpp"
#include "tests/bench/kernels/forms.hpp"

namespace retrace::bench {

LoopForms forms_avx512() { return {kernels::kLoops, kernels::Hand<kernels::HandLanesAvx512>::loop}; }

}  // namespace retrace::bench
