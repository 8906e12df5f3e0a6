// SPDX-License-Identifier: MIT
// Verifiable shares of a secret (Feldman, FOCS 1987): a polynomial modulo n whose value at 0 is the secret, and a
// commitment to each of its coefficients. SPEC 15.3.
#pragma once

#include <vector>

#include "ledger/crypto/curve.hpp"

namespace retrace::market {

using ledger::CurvePoint;
using ledger::RandomSource;
using ledger::Scalar;

/// The polynomial's value at `place` + 1.
struct Share {
    std::uint32_t place = 0;
    Scalar value;
};

struct Sharing {
    std::vector<CurvePoint> commitments;  ///< Of the coefficients of x, x^2, …; the secret's public point goes before.
    std::vector<Scalar> values;           ///< Shares of all places.
};

/// Shares `secret`, which is not zero, among `places`, so that `threshold` of the shares give it.
Sharing share_secret(const Scalar& secret, std::uint32_t places, std::uint32_t threshold, const RandomSource& random);
/// Whether the share is that of the secret of this public point under these commitments.
bool is_share(const CurvePoint& secret, const std::vector<CurvePoint>& commitments, const Share& share);
/// The value at 0 of the polynomial through these shares, whose places differ.
Scalar reconstruct(const std::vector<Share>& shares);

}  // namespace retrace::market
