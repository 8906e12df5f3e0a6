// SPDX-License-Identifier: MIT
// The AMX kernel with its tiles emulated by plain loops. Compiled for AVX-512 and called only where that is available.
#if defined(__x86_64__)

#include <cstring>

#include "kernels/matmul/amx_tiles.hpp"

namespace retrace::kernels {

namespace {

thread_local unsigned char tiles[8][16][64];
thread_local bool configured = false;

struct EmulatedTiles {
    static void enter() { configured = true; }
    static void leave() {
        configured = false;
        std::memset(tiles, 0xee, sizeof tiles);
    }
    template <int t>
    static void zero() {
        std::memset(tiles[t], configured ? 0 : 0xee, sizeof tiles[t]);
    }
    template <int t>
    static void load(const void* from, long stride) {
        for (long r = 0; r < 16; ++r) std::memcpy(tiles[t][r], static_cast<const char*>(from) + r * stride, 64);
    }
    template <int t>
    static void store(void* to, long stride) {
        for (long r = 0; r < 16; ++r) std::memcpy(static_cast<char*>(to) + r * stride, tiles[t][r], 64);
    }
    template <int sum, int a, int b>
    static void dot() {
        for (int m = 0; m < 16; ++m) {
            for (int n = 0; n < 16; ++n) {
                std::int32_t total;
                std::memcpy(&total, &tiles[sum][m][4 * n], 4);
                for (int k = 0; k < 64; ++k) {
                    total += static_cast<signed char>(tiles[a][m][k]) *
                             static_cast<signed char>(tiles[b][k / 4][4 * n + k % 4]);
                }
                std::memcpy(&tiles[sum][m][4 * n], &total, 4);
            }
        }
    }
};

}  // namespace

const MatmulKernel* matmul_kernel_emulated_amx(Precision precision) { return amx_kernel<EmulatedTiles>(precision); }

}  // namespace retrace::kernels

#endif
