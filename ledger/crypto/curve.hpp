// SPDX-License-Identifier: MIT
// Arithmetic of the group of secp256k1 and of integers modulo its order n, for key agreement and shared secrets
// (libsecp256k1 behind a plain header).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

/// Fills a buffer with bytes that nobody else can predict.
using RandomSource = std::function<void(std::span<std::uint8_t>)>;

/// An integer modulo n, wiped on destruction. The time of additions, products and negations does not depend on values
/// that are not zero.
class Scalar {
public:
    static constexpr std::size_t kBytes = 32;

    Scalar() = default;  ///< Zero.
    explicit Scalar(std::uint32_t value);
    Scalar(const Scalar&) = default;
    Scalar& operator=(const Scalar&) = default;
    ~Scalar();

    /// nullopt unless 32 big-endian bytes with a value below n.
    static std::optional<Scalar> from_bytes(View bytes);
    /// The value of a hash modulo n.
    static Scalar from_hash(const Hash32& hash);
    /// Never zero.
    static Scalar random(const RandomSource& source);

    bool is_zero() const;
    Scalar negated() const;
    /// Asserts that the value is not zero. Takes some 500 products.
    Scalar inverse() const;
    View bytes() const noexcept { return bytes_; }
    bool operator==(const Scalar&) const = default;

    friend Scalar operator+(const Scalar& a, const Scalar& b);
    friend Scalar operator*(const Scalar& a, const Scalar& b);

private:
    std::array<std::uint8_t, 32> bytes_{};
};

/// A point of the curve other than infinity, compressed as in SEC 1, 2.3.3.
class CurvePoint {
public:
    static constexpr std::size_t kBytes = 33;

    /// nullopt unless 33 bytes that encode a point of the curve.
    static std::optional<CurvePoint> decode(View bytes);
    View bytes() const noexcept { return bytes_; }
    bool operator==(const CurvePoint&) const = default;
    auto operator<=>(const CurvePoint&) const = default;

private:
    friend struct CurveAccess;
    CurvePoint() = default;
    std::array<std::uint8_t, kBytes> bytes_{};
};

/// The generator.
CurvePoint generator();
/// secret · generator, in constant time. Asserts that the secret is not zero.
CurvePoint public_point(const Scalar& secret);
/// secret · point, in constant time (the point of a Diffie-Hellman agreement). Asserts that the secret is not zero.
CurvePoint shared_point(const Scalar& secret, const CurvePoint& point);
/// scalar · point for a scalar that is no secret. nullopt: infinity.
std::optional<CurvePoint> times(const Scalar& scalar, const CurvePoint& point);
/// The sum of points; nullopt: infinity, also for none.
std::optional<CurvePoint> sum(std::span<const CurvePoint> points);

}  // namespace retrace::ledger
