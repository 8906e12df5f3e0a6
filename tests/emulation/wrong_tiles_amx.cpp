// SPDX-License-Identifier: MIT
// Compiled for AMX and entered only where it is.
#include "kernels/matmul/amx_unit.hpp"
#include "tests/emulation/wrong_tiles.hpp"

namespace retrace::kernels {

namespace {

struct NarrowStride : AmxUnit {
    template <int t>
    static void load(const void* from, long stride) {
        AmxUnit::load<t>(from, stride - 64);  // at least 64 remain, so that every row lies within the operand
    }
};

struct FlippedBit : AmxUnit {
    template <int t>
    static void store(void* to, long stride) {
        AmxUnit::store<t>(to, stride);
        static_cast<unsigned char*>(to)[5 * stride + 12] ^= 1;
    }
};

struct SumsNotCleared : AmxUnit {
    template <int t>
    static void zero() {}
};

struct OperandsSwapped : AmxUnit {
    template <int sum, int a, int b>
    static void dot() {
        AmxUnit::dot<sum, b, a>();
    }
};

struct UnsignedBytes : AmxUnit {
    template <int sum, int a, int b>
    static void dot() {
        asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
    }
};

}  // namespace

const TilesCase tiles_cases[kTilesCases] = {
    {"the unit", true, amx_kernel<AmxUnit>},
    {"a narrow stride", false, amx_kernel<NarrowStride>},
    {"a flipped bit", false, amx_kernel<FlippedBit>},
    {"sums not cleared", false, amx_kernel<SumsNotCleared>},
    {"operands swapped", false, amx_kernel<OperandsSwapped>},
    {"unsigned bytes", false, amx_kernel<UnsignedBytes>},
};

}  // namespace retrace::kernels
