// SPDX-License-Identifier: MIT
// Division by a number that a launch knows: a multiplication where 32 bits suffice, for a device has no instruction that
// divides.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.hpp"

namespace retrace::kernels::cuda {

inline constexpr std::uint64_t kShortLimit = std::uint64_t{1} << 31;  ///< Numbers below it are divided in 32 bits.

/// Divides any number.
template <class Index>
struct Divisor {
    Divisor() = default;
    explicit Divisor(std::uint64_t by) : value(by) {}
    __device__ Index quotient(Index n) const { return n / value; }
    Index value = 1;
};

/// Divides numbers below kShortLimit by one of 1 to kShortLimit - 1. With 2^shift >= value, multiplier · value exceeds
/// 2^(31 + shift) by at most 2^shift, and n < 2^31 times that is less than one whole quotient.
template <>
struct Divisor<std::uint32_t> {
    Divisor() = default;
    explicit Divisor(std::uint64_t by) : value(static_cast<std::uint32_t>(by)) {
        if (by == 0) return;  // of an extent without elements, for which no kernel is launched
        while ((std::uint64_t{1} << shift) < by) ++shift;
        multiplier = static_cast<std::uint32_t>((kShortLimit << shift) / by + 1);
    }
    __device__ std::uint32_t quotient(std::uint32_t n) const {
        return static_cast<std::uint32_t>(std::uint64_t{n} * multiplier >> 31) >> shift;
    }
    std::uint32_t value = 1, multiplier = 0, shift = 0;
};

}  // namespace retrace::kernels::cuda
