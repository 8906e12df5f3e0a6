// SPDX-License-Identifier: MIT
#include "tests/bench/kernels/forms.hpp"

#include "kernels/ops/cpu/simd_avx2.hpp"

namespace retrace::bench {

LoopForms forms_avx2() {
    return {kernels::kLoops, kernels::Hand<kernels::HandLanesAvx2>::loop};
}

}  // namespace retrace::bench
