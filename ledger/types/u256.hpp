// SPDX-License-Identifier: MIT
// Amounts: 256-bit unsigned integers in the smallest unit. Every operation that can overflow shows it in its type.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

class U256 {
public:
    constexpr U256() = default;
    constexpr U256(std::uint64_t v) : limbs_{v, 0, 0, 0} {}  // implicit: amounts are written as literals in rules

    constexpr bool is_zero() const noexcept { return (limbs_[0] | limbs_[1] | limbs_[2] | limbs_[3]) == 0; }
    constexpr bool fits_u64() const noexcept { return (limbs_[1] | limbs_[2] | limbs_[3]) == 0; }
    /// The low 64 bits.
    constexpr std::uint64_t low64() const noexcept { return limbs_[0]; }
    constexpr const std::array<std::uint64_t, 4>& limbs() const noexcept { return limbs_; }

    bool operator==(const U256&) const = default;
    std::strong_ordering operator<=>(const U256& other) const noexcept;

    static U256 max() noexcept;
    static U256 from_be(View bytes);  ///< ≤ 32 bytes, big endian (asserted).
    std::array<std::uint8_t, 32> to_be() const noexcept;
    static std::optional<U256> from_decimal(std::string_view text);  ///< Digits only, no sign; overflow: nullopt.
    std::string to_decimal() const;
    std::string to_quantity() const;  ///< "0x" and hex without leading zeros.

    friend std::optional<U256> checked_add(const U256& a, const U256& b) noexcept;
    friend std::optional<U256> checked_sub(const U256& a, const U256& b) noexcept;
    friend std::optional<U256> checked_mul(const U256& a, const U256& b) noexcept;
    /// floor(a / b); b ≠ 0 is asserted.
    friend U256 operator/(const U256& a, const U256& b);
    friend U256 operator%(const U256& a, const U256& b);
    /// floor(a * b / c) with a 512-bit intermediate; c ≠ 0 and a result < 2^256 are asserted.
    friend U256 mul_div(const U256& a, const U256& b, const U256& c);

    /// For sums that an invariant bounds (supply < 2^256): no overflow is asserted.
    friend U256 operator+(const U256& a, const U256& b);
    friend U256 operator-(const U256& a, const U256& b);
    friend U256 operator*(const U256& a, const U256& b);
    U256& operator+=(const U256& other) { return *this = *this + other; }
    U256& operator-=(const U256& other) { return *this = *this - other; }

private:
    std::array<std::uint64_t, 4> limbs_{};  // little endian
};
// Friends declared at namespace scope so that they can be called with qualified names.
std::optional<U256> checked_add(const U256& a, const U256& b) noexcept;
std::optional<U256> checked_sub(const U256& a, const U256& b) noexcept;
std::optional<U256> checked_mul(const U256& a, const U256& b) noexcept;
U256 mul_div(const U256& a, const U256& b, const U256& c);
inline const U256& min(const U256& a, const U256& b) { return b < a ? b : a; }
inline const U256& max(const U256& a, const U256& b) { return a < b ? b : a; }

}  // namespace retrace::ledger
