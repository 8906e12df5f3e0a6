// SPDX-License-Identifier: MIT
// The block function of ChaCha20 (RFC 8439, 2.3): masks and noise under a key that others do not know.
#pragma once

#include <cstdint>

#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

struct ChaChaKey {
    std::uint32_t word[8] = {};
};
struct ChaChaNonce {
    std::uint32_t word[3] = {};
};
struct ChaChaBlock {
    std::uint32_t word[16] = {};
};

RETRACE_FN std::uint32_t rotate_left(std::uint32_t x, unsigned bits) { return x << bits | x >> (32 - bits); }

RETRACE_FN void chacha_quarter(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d) {
    a += b;
    d = rotate_left(d ^ a, 16);
    c += d;
    b = rotate_left(b ^ c, 12);
    a += b;
    d = rotate_left(d ^ a, 8);
    c += d;
    b = rotate_left(b ^ c, 7);
}

RETRACE_FN ChaChaBlock chacha_block(const ChaChaKey& key, std::uint32_t counter, const ChaChaNonce& nonce) {
    ChaChaBlock start;
    start.word[0] = 0x61707865u;
    start.word[1] = 0x3320646eu;
    start.word[2] = 0x79622d32u;
    start.word[3] = 0x6b206574u;
    for (unsigned i = 0; i < 8; ++i) start.word[4 + i] = key.word[i];
    start.word[12] = counter;
    for (unsigned i = 0; i < 3; ++i) start.word[13 + i] = nonce.word[i];
    ChaChaBlock x = start;
    for (int round = 0; round < 10; ++round) {
        for (unsigned i = 0; i < 4; ++i) chacha_quarter(x.word[i], x.word[4 + i], x.word[8 + i], x.word[12 + i]);
        for (unsigned i = 0; i < 4; ++i) {
            chacha_quarter(x.word[i], x.word[4 + (i + 1) % 4], x.word[8 + (i + 2) % 4], x.word[12 + (i + 3) % 4]);
        }
    }
    for (unsigned i = 0; i < 16; ++i) x.word[i] += start.word[i];
    return x;
}

/// Returns the nonce of the op with this number in its program at `step`.
RETRACE_FN ChaChaNonce chacha_nonce(std::uint64_t step, std::uint32_t number) {
    ChaChaNonce nonce;
    nonce.word[0] = static_cast<std::uint32_t>(step);
    nonce.word[1] = static_cast<std::uint32_t>(step >> 32);
    nonce.word[2] = number;
    return nonce;
}

}  // namespace retrace::kernels
