// SPDX-License-Identifier: MIT
#include "tests/bench/kernels/forms.hpp"

#include "kernels/ops/cpu/hand_avx2.hpp"
#include "kernels/ops/cpu/loops_body.hpp"

namespace retrace::bench {

LoopForms forms_avx2() {
    return {kernels::kLoops, kernels::hand_loop};
}

}  // namespace retrace::bench
