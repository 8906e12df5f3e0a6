// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/loops.hpp"

#include "kernels/runtime/dispatch.hpp"

namespace retrace::kernels {
namespace {

Loops choose() {
#if defined(__x86_64__)
    if (cpu_level() >= CpuLevel::avx512) return loops_avx512();
    if (cpu_level() >= CpuLevel::avx2) return loops_avx2();
#endif
    return loops_generic();
}

}  // namespace

const Loops& loops() {
    static const Loops chosen = choose();
    return chosen;
}

}  // namespace retrace::kernels
