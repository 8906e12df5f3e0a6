// SPDX-License-Identifier: MIT
// Choices of a game: taken from the bytes of an input while there are some, then from its seed. An input with one
// changed byte therefore gives the same game up to that byte.
#pragma once

#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::stateful {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every standard library.
inline std::uint64_t mixed(std::uint64_t z) noexcept {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

class Draws {
public:
    explicit Draws(std::uint64_t seed, View bytes = {}) : state_(seed), bytes_(bytes.begin(), bytes.end()) {}

    std::uint64_t next() noexcept {
        if (at_ < bytes_.size()) return bytes_[at_++];
        const std::uint64_t out = mixed(state_);
        state_ += 0x9e3779b97f4a7c15;
        return out;
    }
    /// Returns a number in [0, count); 0 for count 0.
    std::uint64_t below(std::uint64_t count) noexcept { return count == 0 ? 0 : next() % count; }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept { return low + below(high - low + 1); }
    bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }
    bool percent(std::uint64_t share) noexcept { return below(100) < share; }
    template <class T>
    const T& pick(const std::vector<T>& from) noexcept {
        return from[below(from.size())];
    }

private:
    std::uint64_t state_;
    Bytes bytes_;
    std::size_t at_ = 0;
};

}  // namespace retrace::stateful
