// SPDX-License-Identifier: MIT
#include "kernels/random/philox.hpp"

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {

namespace {

std::uint32_t word_le(const std::uint8_t* p) {
    return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
           static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

View view_of(std::string_view text) {
    return View(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

PhiloxKey stream_key(std::uint64_t seed, std::string_view name) {
    merkle::Sha256 hash;
    hash.update(view_of("retrace/rng/1"));
    hash.update_u64(seed);
    hash.update(view_of(name));
    const Hash32 digest = hash.finish();
    return PhiloxKey{word_le(digest.data()), word_le(digest.data() + 4)};
}

std::uint64_t sample_at(PhiloxKey key, std::uint64_t n, std::uint64_t epoch, std::uint64_t position) {
    ensure(n >= 1 && n <= std::uint64_t{1} << 62 && position < n, "sample position out of range");
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

}  // namespace retrace::kernels
