// SPDX-License-Identifier: MIT
// Why cheating does not pay: stake floors and detection probabilities as exact rationals. SPEC 5.
#pragma once

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// numerator / denominator, 0 < denominator.
struct Ratio {
    U256 numerator, denominator;
};

/// 1 - f^v: probability that not all auditors of a segment collude with its solver.
Ratio honest_seat_probability(std::uint64_t collusion_bp, std::uint8_t auditors);

/// p · (1-f) · (1 - f^v): at least the probability that a bad segment is drawn by an honest member's reveal and has an
/// honest auditor. Reveals of colluding members are withheld when they draw it (SPEC 8.2.8).
Ratio effective_audit_probability(std::uint64_t audit_bp, std::uint64_t collusion_bp, std::uint8_t auditors);

/// p · (1-f) · (1-f)^(v · (1 + redraws)): probability that a bad segment is drawn so and nobody drawn for it colludes,
/// when the solver serves nobody else. Rounded down to 10^-18.
Ratio unserved_audit_probability(std::uint64_t audit_bp, const Params& params, std::uint8_t auditors);

/// The least S with p_eff · (1-a) · S > (1-p_eff) · gain and p_starved · S > (1-p_starved) · gain, times the
/// safety factor. A probability of zero: nullopt, no stake is enough. `gain` is below 2^128 (asserted).
std::optional<U256> stake_floor(const Params& params, std::uint64_t audit_bp, std::uint8_t auditors,
                                const U256& gain);
/// What a bid on `spec` must lock: that, and at least the bonds of one segment's auditors.
std::optional<U256> stake_floor(const Params& params, const TaskSpec& spec);

/// 1 - (1-p_eff)^bad in parts per million, rounded down. For people; no rule reads it.
std::uint64_t detection_ppm(const Ratio& probability, std::uint64_t bad_segments);

/// Expected audit fees as a share of the price of all segments, in basis points: p·(n-2) + 2 audits of v
/// fees.
std::uint64_t audit_cost_bp(const Params& params, const TaskSpec& spec);

}  // namespace retrace::market
