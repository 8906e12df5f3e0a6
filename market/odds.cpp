// SPDX-License-Identifier: MIT
#include "market/odds.hpp"

#include <algorithm>

#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::market {
namespace {

constexpr std::uint64_t kWhole = kBasisPoints;
constexpr std::uint64_t kFixedOne = 1'000'000'000'000'000'000;  // fixed point for display

}  // namespace

Ratio honest_seat_probability(std::uint64_t collusion_bp, std::uint8_t auditors) {
    ensure(collusion_bp <= kWhole && auditors <= kAuditorsMax, "shares are at most 100 %");
    U256 all = 1, colluding = 1;
    for (std::uint8_t i = 0; i < auditors; ++i) {
        all = all * U256(kWhole);
        colluding = colluding * U256(collusion_bp);
    }
    return {all - colluding, all};
}

Ratio effective_audit_probability(std::uint64_t audit_bp, std::uint64_t collusion_bp, std::uint8_t auditors) {
    ensure(audit_bp <= kWhole, "shares are at most 100 %");
    const Ratio seats = honest_seat_probability(collusion_bp, auditors);
    return {U256(audit_bp * (kWhole - collusion_bp)) * seats.numerator, U256(kWhole * kWhole) * seats.denominator};
}

Ratio unserved_audit_probability(std::uint64_t audit_bp, const Params& params, std::uint8_t auditors) {
    ensure(audit_bp <= kWhole && auditors <= kAuditorsMax, "shares are at most 100 %");
    U256 honest = kFixedOne;
    for (std::uint64_t i = 0; i < 1 + auditors * (1 + params.redraws); ++i)
        honest = ledger::mul_div(honest, kWhole - params.collusion_bp, kWhole);
    return {U256(audit_bp) * honest, U256(kWhole) * U256(kFixedOne)};
}

std::optional<U256> stake_floor(const Params& params, std::uint64_t audit_bp, std::uint8_t auditors, const U256& gain) {
    ensure(gain.limbs()[2] == 0 && gain.limbs()[3] == 0, "a gain is below 2^128");
    const Ratio p = effective_audit_probability(audit_bp, params.collusion_bp, auditors);
    const Ratio unserved = unserved_audit_probability(audit_bp, params, auditors);
    if (p.numerator.is_zero() || unserved.numerator.is_zero()) return std::nullopt;
    const U256 missed = p.denominator - p.numerator;
    // gain < 2^128, missed ≤ 10^28 < 2^94, so the product with 10^4 stays below 2^236.
    const U256 top = missed * U256(kWhole) * gain;
    const U256 bottom = p.numerator * U256(kWhole - params.challenger_share_bp);
    const U256 against_starving =
        ledger::mul_div(gain, unserved.denominator - unserved.numerator, unserved.numerator) + U256(1);
    const U256 least = std::max({top / bottom + U256(1), against_starving, gain});  // strictly more; 5.2.1
    return ledger::mul_div(least, params.safety_bp, kBasisPoints);
}

std::optional<U256> stake_floor(const Params& params, const TaskSpec& spec) {
    const auto floor = stake_floor(params, spec.audit_bp, spec.auditors, spec.price_ceiling);
    if (!floor) return std::nullopt;
    const U256 fee = audit_fee(params, spec);
    // A fee is below 2^128. The burned part is at least (1-a)·S less one fee (6.3).
    const U256 burned = fee * U256(kAuditsAtRisk * spec.auditors + 1);
    const U256 covers = ledger::mul_div(burned, kWhole, kWhole - params.challenger_share_bp) + U256(1);  // 5.5
    return std::max({*floor, params.audit_bond * U256(spec.auditors), covers});                          // 5.4
}

std::uint64_t audits_covered(const Params& params, const TaskSpec& spec, const U256& lock) {
    const U256 fee = audit_fee(params, spec), fees = fee * U256(spec.auditors);
    if (fees.is_zero()) return ~std::uint64_t{0};
    const Conviction parts = conviction(lock, fee, params);
    const U256 covered = (lock - parts.share - parts.costs) / fees;
    return covered.fits_u64() ? covered.low64() : ~std::uint64_t{0};
}

std::uint64_t detection_ppm(const Ratio& probability, std::uint64_t bad_segments) {
    const U256 one = kFixedOne;
    U256 base = ledger::mul_div(one, probability.denominator - probability.numerator, probability.denominator);
    U256 missed = one;
    for (std::uint64_t rest = bad_segments; rest != 0; rest >>= 1) {
        if (rest & 1) missed = ledger::mul_div(missed, base, one);
        base = ledger::mul_div(base, base, one);
    }
    return ledger::mul_div(one - missed, 1'000'000, one).low64();
}

std::uint64_t audit_cost_bp(const Params& params, const TaskSpec& spec) {
    const std::uint64_t n = spec.segments();
    if (n == 0 || spec.price_ceiling.is_zero()) return 0;
    const std::uint64_t always = std::min<std::uint64_t>(n, 2);
    // Audits times 10,000, so that a segment's share stays an integer.
    const U256 audits_bp = U256(always * kWhole) + U256(n - always) * U256(spec.audit_bp);
    const U256 fees = audit_fee(params, spec) * U256(spec.auditors);
    const U256 share = ledger::mul_div(audits_bp, fees, spec.price_ceiling) / U256(n);
    return share.fits_u64() ? share.low64() : ~std::uint64_t{0};
}

}  // namespace retrace::market
