// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/hand_avx2.hpp"
#include "kernels/ops/cpu/loops_body.hpp"

namespace retrace::kernels {

Loops loops_avx2() {
    Loops out = kLoops;
    out.element = [](OpCode code, DType in, DType result) {
        const ElementLoop by_hand = hand_loop(code);
        return by_hand != nullptr ? by_hand : element_loop(code, in, result);
    };
    return out;
}

}  // namespace retrace::kernels
