// SPDX-License-Identifier: MIT
#include "market/masks/shares.hpp"

namespace retrace::market {

Sharing share_secret(const Scalar& secret, std::uint32_t places, std::uint32_t threshold, const RandomSource& random) {
    std::vector<Scalar> coefficients{secret};
    Sharing out;
    while (coefficients.size() < threshold) {
        coefficients.push_back(Scalar::random(random));
        out.commitments.push_back(ledger::public_point(coefficients.back()));
    }
    for (std::uint32_t place = 0; place < places; ++place) {
        const Scalar x(place + 1);
        Scalar value;
        for (std::size_t i = coefficients.size(); i-- > 0;) value = value * x + coefficients[i];
        out.values.push_back(value);
    }
    return out;
}

bool is_share(const CurvePoint& secret, const std::vector<CurvePoint>& commitments, const Share& share) {
    if (share.value.is_zero()) return false;  // No dealer makes one but by chance, once in 2^256.
    const Scalar x(share.place + 1);
    Scalar power(1);
    std::vector<CurvePoint> terms{secret};
    for (const CurvePoint& commitment : commitments) {
        power = power * x;
        terms.push_back(*ledger::times(power, commitment));  // A power of x is never zero, because n is prime.
    }
    return ledger::sum(terms) == ledger::public_point(share.value);
}

Scalar reconstruct(const std::vector<Share>& shares) {
    Scalar out;
    for (const Share& mine : shares) {
        Scalar above(1), below(1);
        for (const Share& other : shares) {
            if (other.place == mine.place) continue;
            above = above * Scalar(other.place + 1);
            below = below * (Scalar(other.place + 1) + Scalar(mine.place + 1).negated());
        }
        out = out + mine.value * above * below.inverse();
    }
    return out;
}

}  // namespace retrace::market
