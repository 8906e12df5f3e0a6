// SPDX-License-Identifier: MIT
// The forms of the inner loops that the library chooses from, each by itself: what the compiler makes of loops_body.hpp
// for an instruction set, and what is written by hand for it. Compiled as the library's own copies are.
#pragma once

#include "kernels/ops/cpu/loops.hpp"

namespace retrace::bench {

struct LoopForms {
    kernels::Loops compiled;
    kernels::ElementLoop (*by_hand)(kernels::OpCode code);  ///< Null, or gives null, where there is none.
};

LoopForms forms_avx2();
LoopForms forms_avx512();

}  // namespace retrace::bench
