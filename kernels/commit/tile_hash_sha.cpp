// SPDX-License-Identifier: MIT
#include "kernels/commit/tile_hash.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/commit/sha256_rounds.hpp"

namespace retrace::kernels {
namespace {

alignas(16) constexpr Sha256Rounds kRounds;

/// The eight words of a state in the order that the round instruction requires.
struct State {
    __m128i abef = _mm_setr_epi32(static_cast<int>(0x9b05688c), 0x510e527f, static_cast<int>(0xbb67ae85), 0x6a09e667);
    __m128i cdgh = _mm_setr_epi32(0x5be0cd19, 0x1f83d9ab, static_cast<int>(0xa54ff53a), 0x3c6ef372);
};

/// The message schedule of one block, four words at a time.
struct Schedule {
    __m128i word[4];

    explicit Schedule(const std::uint8_t* block) {
        const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
        for (int i = 0; i < 4; ++i) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
            word[i] = _mm_shuffle_epi8(bytes, big_endian);
        }
    }

    /// Returns words 4·group … 4·group + 3 of the schedule and replaces them by words 4·(group + 4) ….
    template <int group>
    __m128i take() {
        const __m128i taken = word[group % 4];
        if constexpr (group < 12) {
            const __m128i last = word[(group + 3) % 4];
            const __m128i early = _mm_sha256msg1_epu32(taken, word[(group + 1) % 4]);
            const __m128i sum = _mm_add_epi32(early, _mm_alignr_epi8(last, word[(group + 2) % 4], 4));
            word[group % 4] = _mm_sha256msg2_epu32(sum, last);
        }
        return taken;
    }
};

inline void four_rounds(State& s, __m128i words, int group) {
    const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds.k) + group);
    const __m128i input = _mm_add_epi32(words, constants);
    s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, input);
    s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(input, 0x0e));
}

template <int group = 0>
inline void all_rounds(State& x, State& y, Schedule& words_x, Schedule& words_y) {
    four_rounds(x, words_x.take<group>(), group);
    four_rounds(y, words_y.take<group>(), group);
    if constexpr (group + 1 < 16) all_rounds<group + 1>(x, y, words_x, words_y);
}

void store(const State& s, std::uint8_t digest[32]) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    const __m128i feba = _mm_shuffle_epi32(s.abef, 0x1b), dchg = _mm_shuffle_epi32(s.cdgh, 0xb1);
    const __m128i abcd = _mm_blend_epi16(feba, dchg, 0xf0), efgh = _mm_alignr_epi8(dchg, feba, 8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(digest), _mm_shuffle_epi8(abcd, big_endian));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(digest + 16), _mm_shuffle_epi8(efgh, big_endian));
}

void hash_two(const std::uint8_t* first, const std::uint8_t* second, std::size_t blocks, std::uint8_t first_digest[32],
              std::uint8_t second_digest[32]) {
    State x, y;
    for (std::size_t i = 0; i < blocks; ++i) {
        const State before_x = x, before_y = y;
        Schedule words_x(first + 64 * i), words_y(second + 64 * i);
        all_rounds(x, y, words_x, words_y);
        x.abef = _mm_add_epi32(x.abef, before_x.abef);
        x.cdgh = _mm_add_epi32(x.cdgh, before_x.cdgh);
        y.abef = _mm_add_epi32(y.abef, before_y.abef);
        y.cdgh = _mm_add_epi32(y.cdgh, before_y.cdgh);
    }
    store(x, first_digest);
    store(y, second_digest);
}

}  // namespace

HashPair hash_pair_sha() { return hash_two; }

}  // namespace retrace::kernels

#else

namespace retrace::kernels {

HashPair hash_pair_sha() { return nullptr; }

}  // namespace retrace::kernels

#endif
