// SPDX-License-Identifier: MIT
#include "kernels/commit/tile_hash.hpp"

#include "kernels/runtime/dispatch.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace retrace::kernels {
namespace {

bool has_sha_instructions() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kSha = 1u << 29;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
#else
    return false;
#endif
}

}  // namespace

HashPair hash_pair() {
    static const HashPair chosen =
        cpu_level() != CpuLevel::scalar && has_sha_instructions() ? hash_pair_sha() : nullptr;
    return chosen;
}

}  // namespace retrace::kernels
