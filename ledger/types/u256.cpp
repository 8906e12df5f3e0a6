// SPDX-License-Identifier: MIT
#include "ledger/types/u256.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

__extension__ typedef unsigned __int128 U128;
using Limbs = std::array<std::uint64_t, 4>;
using Wide = std::array<std::uint64_t, 8>;  // a 512-bit product, little endian

bool add_limbs(Limbs& a, const Limbs& b) noexcept {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const U128 sum = U128{a[i]} + b[i] + carry;
        a[i] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
    }
    return carry != 0;
}

bool sub_limbs(Limbs& a, const Limbs& b) noexcept {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const U128 difference = U128{a[i]} - b[i] - borrow;
        a[i] = static_cast<std::uint64_t>(difference);
        borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
    }
    return borrow != 0;
}

bool less(const Limbs& a, const Limbs& b) noexcept {
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

Wide mul_wide(const Limbs& a, const Limbs& b) noexcept {
    Wide out{};
    for (std::size_t i = 0; i < 4; ++i) {
        std::uint64_t carry = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            const U128 sum = U128{a[i]} * b[j] + out[i + j] + carry;
            out[i + j] = static_cast<std::uint64_t>(sum);
            carry = static_cast<std::uint64_t>(sum >> 64);
        }
        out[i + 4] = carry;
    }
    return out;
}

struct Division {
    Wide quotient{};
    Limbs remainder{};
};

/// Schoolbook division: limb by limb for a one-limb divisor (the common case), bit by bit otherwise. Rules divide only
/// a few times per transaction, so the slow loop does not matter.
Division divide(const Wide& a, const Limbs& b) {
    Division out;
    if ((b[1] | b[2] | b[3]) == 0) {
        ensure(b[0] != 0, "U256: division by zero");
        U128 remainder = 0;
        for (std::size_t i = 8; i-- > 0;) {
            const U128 part = remainder << 64 | a[i];
            out.quotient[i] = static_cast<std::uint64_t>(part / b[0]);
            remainder = part % b[0];
        }
        out.remainder[0] = static_cast<std::uint64_t>(remainder);
        return out;
    }
    for (std::size_t bit = 512; bit-- > 0;) {
        const bool top = out.remainder[3] >> 63 != 0;
        for (std::size_t i = 3; i > 0; --i) out.remainder[i] = out.remainder[i] << 1 | out.remainder[i - 1] >> 63;
        out.remainder[0] = out.remainder[0] << 1 | (a[bit / 64] >> (bit % 64) & 1);
        if (top || !less(out.remainder, b)) {
            sub_limbs(out.remainder, b);  // with `top` set the borrow cancels the bit shifted out
            out.quotient[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
    }
    return out;
}

Wide widen(const Limbs& a) noexcept { return {a[0], a[1], a[2], a[3], 0, 0, 0, 0}; }

bool high_half_zero(const Wide& a) noexcept { return (a[4] | a[5] | a[6] | a[7]) == 0; }

}  // namespace

std::strong_ordering U256::operator<=>(const U256& other) const noexcept {
    for (std::size_t i = 4; i-- > 0;) {
        if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
    }
    return std::strong_ordering::equal;
}

U256 U256::max() noexcept {
    U256 out;
    out.limbs_.fill(~std::uint64_t{0});
    return out;
}

U256 U256::from_be(View bytes) {
    ensure(bytes.size() <= 32, "U256: more than 32 bytes");
    U256 out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out.limbs_[i / 8] |= std::uint64_t{bytes[bytes.size() - 1 - i]} << (8 * (i % 8));
    }
    return out;
}

std::array<std::uint8_t, 32> U256::to_be() const noexcept {
    std::array<std::uint8_t, 32> out;
    for (std::size_t i = 0; i < 32; ++i) out[31 - i] = static_cast<std::uint8_t>(limbs_[i / 8] >> (8 * (i % 8)));
    return out;
}

std::optional<U256> U256::from_decimal(std::string_view text) {
    if (text.empty()) return std::nullopt;
    U256 out;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        const auto shifted = checked_mul(out, 10);
        if (!shifted) return std::nullopt;
        const auto sum = checked_add(*shifted, static_cast<std::uint64_t>(c - '0'));
        if (!sum) return std::nullopt;
        out = *sum;
    }
    return out;
}

std::string U256::to_decimal() const {
    constexpr std::uint64_t kChunk = 10'000'000'000'000'000'000U;  // 10^19, the largest power in a limb
    std::string out;
    U256 rest = *this;
    while (!rest.fits_u64()) {
        std::string digits = std::to_string((rest % kChunk).low64());
        digits.insert(0, 19 - digits.size(), '0');
        out.insert(0, digits);
        rest = rest / kChunk;
    }
    const bool leading_chunk = out.empty() || rest.low64() != 0;
    return leading_chunk ? std::to_string(rest.low64()) + out : out.substr(out.find_first_not_of('0'));
}

std::string U256::to_quantity() const {
    const auto be = to_be();
    const std::string hex = to_hex(View{be.data(), be.size()});
    const auto first = hex.find_first_not_of('0');
    return first == std::string::npos ? "0x0" : "0x" + hex.substr(first);
}

std::optional<U256> checked_add(const U256& a, const U256& b) noexcept {
    U256 out = a;
    if (add_limbs(out.limbs_, b.limbs_)) return std::nullopt;
    return out;
}

std::optional<U256> checked_sub(const U256& a, const U256& b) noexcept {
    U256 out = a;
    if (sub_limbs(out.limbs_, b.limbs_)) return std::nullopt;
    return out;
}

std::optional<U256> checked_mul(const U256& a, const U256& b) noexcept {
    const Wide product = mul_wide(a.limbs_, b.limbs_);
    if (!high_half_zero(product)) return std::nullopt;
    U256 out;
    std::copy_n(product.begin(), 4, out.limbs_.begin());
    return out;
}

U256 operator/(const U256& a, const U256& b) {
    const Division division = divide(widen(a.limbs_), b.limbs_);
    U256 out;
    std::copy_n(division.quotient.begin(), 4, out.limbs_.begin());
    return out;
}

U256 operator%(const U256& a, const U256& b) {
    U256 out;
    out.limbs_ = divide(widen(a.limbs_), b.limbs_).remainder;
    return out;
}

U256 mul_div(const U256& a, const U256& b, const U256& c) {
    const Division division = divide(mul_wide(a.limbs_, b.limbs_), c.limbs_);
    ensure(high_half_zero(division.quotient), "U256: mul_div overflow");
    U256 out;
    std::copy_n(division.quotient.begin(), 4, out.limbs_.begin());
    return out;
}

U256 operator+(const U256& a, const U256& b) {
    const auto out = checked_add(a, b);
    ensure(out.has_value(), "U256: addition overflow");
    return *out;
}

U256 operator-(const U256& a, const U256& b) {
    const auto out = checked_sub(a, b);
    ensure(out.has_value(), "U256: subtraction below zero");
    return *out;
}

U256 operator*(const U256& a, const U256& b) {
    const auto out = checked_mul(a, b);
    ensure(out.has_value(), "U256: multiplication overflow");
    return *out;
}

}  // namespace retrace::ledger
