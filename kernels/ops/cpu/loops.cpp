// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/loops.hpp"

#include <cstdlib>
#include <string_view>

namespace retrace::kernels {
namespace {

Loops choose() {
#if defined(__x86_64__)
    const char* wanted = std::getenv("RETRACE_CPU");
    const std::string_view name = wanted ? wanted : "";
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (name == "reference" || name == "scalar") return loops_generic();
    if (avx512 && name != "avx2") return loops_avx512();
    if (avx2) return loops_avx2();
#endif
    return loops_generic();
}

}  // namespace

const Loops& loops() {
    static const Loops chosen = choose();
    return chosen;
}

}  // namespace retrace::kernels
