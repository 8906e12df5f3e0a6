// SPDX-License-Identifier: MIT
// The only source of randomness of a simulated run: every draw follows from the seed.
#pragma once

#include <cstdint>
#include <string_view>

namespace retrace::sim {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    /// splitmix64 (Steele, Lea, Flood 2014).
    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /// Returns a number in 0 … n - 1; n must not be 0. The bias is below 2^-50 for the ranges drawn here.
    std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept { return low + below(high - low + 1); }
    bool chance(unsigned permille) noexcept { return below(1000) < permille; }
    template <class List>
    const auto& pick(const List& list) noexcept {
        return list[below(std::size(list))];
    }
    /// Returns an independent stream, so that the draws of one part do not shift those of another.
    Random fork(std::string_view name) noexcept {
        std::uint64_t seed = next();
        for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        return Random(seed);
    }

private:
    std::uint64_t state_;
};

}  // namespace retrace::sim
