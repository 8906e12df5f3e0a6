// SPDX-License-Identifier: MIT
// Bounds that hold before any size is multiplied, and the one place where sizes are multiplied.
#pragma once

#include <limits>
#include <optional>

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// No tensor has more elements, whatever a chain's genesis says; sizes in bytes then fit 64 bits many times over.
inline constexpr std::uint64_t kElementsMax = 1ull << 36;
inline constexpr std::size_t kNameMax = 120;      ///< Bytes of a tensor or stream name.
inline constexpr std::size_t kInputsMax = 64;     ///< Of one op.
inline constexpr std::size_t kAttributesMax = 32; ///< Of one op.

bool is_dtype(DType dtype) noexcept;
/// rank ≤ kRankMax and the product of the extents, zeros counted as ones, ≤ kElementsMax: so the rows alone are in
/// range too. Names the rule that fails.
Status<> check_dims(const Dims& dims);

inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
    return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}
inline std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}

}  // namespace retrace::kernels
