// SPDX-License-Identifier: MIT
// Fragments in the layouts of the PTX manual (PTX ISA 8, 9.7.14: "Matrix Fragments for mma.m8n8k16", "… mma.m16n8k32"
// with .s8, and "ldmatrix"), element by element and without the shortcuts of the kernels.
#include "tests/cuda/emulation/cuda.hpp"

namespace retrace::emulation {
namespace {

template <class T>
T from_lane(const unsigned char* all, unsigned lane) {
    T out;
    std::memcpy(&out, all + std::size_t{64} * lane, sizeof out);
    return out;
}

}  // namespace

void mma_m16n8k32(std::int32_t (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    struct Operands {
        std::uint32_t a[4], b[2];
    } own;
    std::memcpy(own.a, a, sizeof own.a);
    std::memcpy(own.b, b, sizeof own.b);
    const unsigned char* all = exchange(&own, sizeof own);
    const unsigned group = lane() >> 2, in_group = lane() % 4;
    std::int8_t rows[2][32], cols[2][32];  // of a: row `group` and the eighth after it; of b: 2·in_group and the next
    for (unsigned k = 0; k < 32; k += 4) {
        const unsigned from = k % 16 / 4, half = k / 16;
        for (unsigned i = 0; i < 2; ++i) {
            // a: row = group for a0..3 and a8..11, group + 8 otherwise; k = 4·(lane % 4) + (i & 3), +16 from a8 on.
            const Operands a_lane = from_lane<Operands>(all, group * 4 + from);
            std::memcpy(rows[i] + k, &a_lane.a[half * 2 + i], 4);
            // b: col = group; k = 4·(lane % 4) + (i & 3), +16 from b4 on.
            const Operands b_lane = from_lane<Operands>(all, (in_group * 2 + i) * 4 + from);
            std::memcpy(cols[i] + k, &b_lane.b[half], 4);
        }
    }
    for (unsigned i = 0; i < 4; ++i)
        for (unsigned k = 0; k < 32; ++k) c[i] += rows[i / 2][k] * cols[i & 1][k];
}

void mma_m8n8k16(std::int32_t& c0, std::int32_t& c1, std::uint32_t a, std::uint32_t b) {
    struct Operands {
        std::uint32_t a, b;
    } own{a, b};
    const unsigned char* all = exchange(&own, sizeof own);
    std::int8_t row[16], cols[2][16];
    for (unsigned k = 0; k < 16; k += 4) {
        const Operands a_lane = from_lane<Operands>(all, (lane() >> 2) * 4 + k / 4);
        std::memcpy(row + k, &a_lane.a, 4);
        for (unsigned i = 0; i < 2; ++i) {
            const Operands b_lane = from_lane<Operands>(all, (lane() % 4 * 2 + i) * 4 + k / 4);
            std::memcpy(cols[i] + k, &b_lane.b, 4);
        }
    }
    for (unsigned k = 0; k < 16; ++k) {
        c0 += row[k] * cols[0][k];
        c1 += row[k] * cols[1][k];
    }
}

// Lanes 0..7 give the rows of the first 8×8 matrix of 16-bit elements, 8..15 those of the second, and so on; lane l
// receives elements 2·(l % 4) and the next of row l / 4 of each matrix.
void load_matrices(std::uint32_t (&out)[4], const void* row) {
    const unsigned char* all = exchange(&row, sizeof row);
    for (unsigned m = 0; m < 4; ++m) {
        const auto* from = from_lane<const unsigned char*>(all, 8 * m + lane() / 4);
        std::memcpy(&out[m], from + std::size_t{4} * (lane() % 4), 4);
    }
}

}  // namespace retrace::emulation
