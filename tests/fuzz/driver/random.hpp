// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "merkle/base/bytes.hpp"

namespace retrace::fuzz {

/// A small generator, SplitMix64 (Steele, Lea, Flood 2014), that gives the same numbers with every standard library.
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// Returns a number in [0, count); 0 for count 0.
    std::size_t below(std::size_t count) noexcept { return count == 0 ? 0 : next() % count; }

private:
    std::uint64_t state_;
};

/// Returns `first` and `size` random bytes: a seed for a target that reads its input as choices.
inline Bytes random_choices(std::uint8_t first, std::uint64_t number, std::size_t size) {
    Bytes out{first};
    Random random(number);
    for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<std::uint8_t>(random.next()));
    return out;
}

}  // namespace retrace::fuzz
