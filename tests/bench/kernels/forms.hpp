// SPDX-License-Identifier: MIT
// The variants of the inner loops from which the library chooses, each by itself: the compiler's code for
// loops_body.hpp for an instruction set, and the hand-written one. Compiled with the same flags as in the library.
#pragma once

#include "kernels/ops/cpu/loops.hpp"

namespace retrace::bench {

struct LoopForms {
    kernels::Loops compiled;
    kernels::ElementLoop (*by_hand)(kernels::OpCode code);  ///< Null, or returns null, where there is none.
};

LoopForms forms_avx2();
LoopForms forms_avx512();

}  // namespace retrace::bench
