// SPDX-License-Identifier: MIT
// Bounds that are checked before any size is multiplied, and saturating arithmetic for sizes.
#pragma once

#include <limits>
#include <optional>

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Maximum elements of a tensor, whatever limit a chain's genesis sets, so that sizes in bytes are far below 2^64.
inline constexpr std::uint64_t kElementsMax = 1ull << 36;
inline constexpr std::size_t kNameMax = 120;       ///< Bytes of a tensor or stream name.
inline constexpr std::size_t kInputsMax = 64;      ///< Inputs of one op.
inline constexpr std::size_t kAttributesMax = 32;  ///< Attributes of one op.

bool is_dtype(DType dtype) noexcept;
/// Checks that rank ≤ kRankMax and that the product of the extents, with zeros counted as ones, is ≤ kElementsMax,
/// so that the number of rows is in range too. The error names the rule that fails.
Status<> check_dims(const Dims& dims);

inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
    return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}
inline std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}

}  // namespace retrace::kernels
