// SPDX-License-Identifier: MIT
// Random numbers of the contract (contract 3): Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011), uniform and normal values, and the order of samples in an epoch.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/scalar/functions.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

struct PhiloxKey {
    std::uint32_t word0 = 0, word1 = 0;
    friend bool operator==(PhiloxKey a, PhiloxKey b) { return a.word0 == b.word0 && a.word1 == b.word1; }
};

struct PhiloxBlock {
    std::uint32_t word[4] = {};
};

/// Key of one named stream: the first 8 bytes of SHA-256("retrace/rng/1" ‖ seed u64 LE ‖ name), word 0 first.
PhiloxKey stream_key(std::uint64_t seed, std::string_view name);

/// Philox4x32-10 of the counter words (word 0 first).
RETRACE_FN PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
    PhiloxBlock x = counter;
    std::uint32_t k0 = key.word0, k1 = key.word1;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x.word[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x.word[2];
        const std::uint32_t next0 = static_cast<std::uint32_t>(p1 >> 32) ^ x.word[1] ^ k0;
        const std::uint32_t next2 = static_cast<std::uint32_t>(p0 >> 32) ^ x.word[3] ^ k1;
        x.word[1] = static_cast<std::uint32_t>(p1);
        x.word[3] = static_cast<std::uint32_t>(p0);
        x.word[0] = next0;
        x.word[2] = next2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return x;
}

/// Returns the block that holds elements 4·block .. 4·block+3 of a stream at `step`.
RETRACE_FN PhiloxBlock philox_block(PhiloxKey key, std::uint64_t block, std::uint64_t step) {
    PhiloxBlock counter;
    counter.word[0] = static_cast<std::uint32_t>(block);
    counter.word[1] = static_cast<std::uint32_t>(block >> 32);
    counter.word[2] = static_cast<std::uint32_t>(step);
    counter.word[3] = static_cast<std::uint32_t>(step >> 32);
    return philox(key, counter);
}

/// Returns element `element` of the stream at `step`: word element % 4 of block element / 4.
RETRACE_FN std::uint32_t philox_word(PhiloxKey key, std::uint64_t element, std::uint64_t step) {
    return philox_block(key, element / 4, step).word[element % 4];
}

/// (w >> 8) · 2^-24 in [0, 1).
RETRACE_FN float uniform_of(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// Returns the normal value, before the epilogue, from the words of elements 2p (`word0`) and 2p+1 (`word1`): the
/// cosine for element 2p, the sine for 2p+1 (`odd`).
RETRACE_FN float normal_of(std::uint32_t word0, std::uint32_t word1, bool odd) {
    const float u1 = static_cast<float>((word0 >> 8) + 1u) * 0x1p-24f;
    const float u2 = static_cast<float>(word1 >> 8) * 0x1p-24f;
    float t = -2.0f * fn_log(u1);
    if (t == 0.0f) t = 0.0f;
    const float r = sqrt32(t);
    return r * (odd ? fn_sin_turns(u2) : fn_cos_turns(u2));
}

RETRACE_FN float philox_uniform(PhiloxKey key, std::uint64_t element, std::uint64_t step) {
    return finish(uniform_of(philox_word(key, element, step)));
}

RETRACE_FN float philox_normal(PhiloxKey key, std::uint64_t element, std::uint64_t step) {
    const PhiloxBlock block = philox_block(key, element / 4, step);
    const unsigned pair = static_cast<unsigned>(element % 4) & ~1u;
    return finish(normal_of(block.word[pair], block.word[pair + 1], (element & 1) != 0));
}

/// sample_at without its checks.
RETRACE_FN std::uint64_t walk_samples(PhiloxKey key, std::uint64_t n, std::uint64_t epoch, std::uint64_t position) {
    unsigned bits = 2;
    while (std::uint64_t{1} << bits < n) bits += 2;
    const unsigned half = bits / 2;
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    std::uint64_t index = position;
    do {
        std::uint64_t left = index >> half, right = index & mask;
        for (std::uint32_t round = 0; round < 6; ++round) {
            PhiloxBlock counter;
            counter.word[0] = static_cast<std::uint32_t>(right);
            counter.word[1] = round;
            counter.word[2] = static_cast<std::uint32_t>(epoch);
            counter.word[3] = static_cast<std::uint32_t>(epoch >> 32);
            const std::uint64_t next = left ^ (philox(key, counter).word[0] & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= n);
    return index;
}

/// Returns the sample at place `position` of epoch `epoch`: a permutation of [0, n) by a Feistel network of six rounds,
/// repeated until the result is below n. `key` is the key of stream "order". 1 <= n <= 2^62, position < n.
std::uint64_t sample_at(PhiloxKey key, std::uint64_t n, std::uint64_t epoch, std::uint64_t position);

}  // namespace retrace::kernels
