// SPDX-License-Identifier: MIT
// The tiles of the AMX unit, for AmxKernel (amx_tiles.hpp). Included only by files compiled for AMX.
#pragma once

#include "kernels/matmul/amx_tiles.hpp"

namespace retrace::kernels {
namespace {

/// kernels/runtime/dispatch must have requested the tile state from the system before any of these functions runs.
struct AmxUnit {
    struct alignas(64) Configuration {
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };

    static void enter() {
        const Configuration configuration;
        asm volatile("" ::"r"(&configuration) : "memory");  // GCC 12 does not see that the next line reads it
        _tile_loadconfig(&configuration);
    }
    static void leave() { _tile_release(); }

    // In assembly, because the compiler's intrinsics require literal tile numbers.
    template <int t>
    static void zero() {
        asm volatile("tilezero %%tmm%c0" ::"i"(t));
    }
    template <int t>
    static void load(const void* from, long stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(t) : "memory");
    }
    template <int t>
    static void store(void* to, long stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(t) : "memory");
    }
    template <int sum, int a, int b>
    static void dot() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
    }
};

}  // namespace
}  // namespace retrace::kernels
