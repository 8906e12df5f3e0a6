// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/loops_body.hpp"

namespace retrace::kernels {

Loops loops_avx2() { return kLoops; }

}  // namespace retrace::kernels
