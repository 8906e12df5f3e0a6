// SPDX-License-Identifier: MIT
// Stake floors and detection probabilities, as exact rationals, which make cheating a loss. SPEC 5.
#pragma once

#include "market/params.hpp"
#include "market/types.hpp"

namespace retrace::market {

/// numerator / denominator, 0 < denominator.
struct Ratio {
    U256 numerator, denominator;
};

/// 1 - f^v: the probability that not all auditors of a segment collude with the solver.
Ratio honest_seat_probability(std::uint64_t collusion_bp, std::uint8_t auditors);

/// p · (1-f) · (1 - f^v): a lower bound of the probability that a bad segment is drawn by an honest member's reveal
/// and has an honest auditor. Colluding members withhold the reveals that would draw it (SPEC 8.2.8).
Ratio effective_audit_probability(std::uint64_t audit_bp, std::uint64_t collusion_bp, std::uint8_t auditors);

/// p · (1-f) · (1-f)^(v · (1 + redraws)): the probability that a bad segment is drawn by an honest member's reveal
/// and no auditor drawn for it colludes, when the solver serves colluding auditors only. The result is rounded down
/// to 10^-18.
Ratio unserved_audit_probability(std::uint64_t audit_bp, const Params& params, std::uint8_t auditors);

/// The least S with p_eff · (1-a) · S > (1-p_eff) · gain, p_starved · S > (1-p_starved) · gain and S ≥ gain
/// (5.2.1), times the safety factor. nullopt when a probability is zero: no stake is enough. `gain` is below 2^128
/// (asserted).
std::optional<U256> stake_floor(const Params& params, std::uint64_t audit_bp, std::uint8_t auditors, const U256& gain);
/// Stake that a bid on `spec` must lock: the floor above, and at least the bonds of one segment's auditors (5.4) and
/// what covers the fees of kAuditsAtRisk audited segments (5.5).
std::optional<U256> stake_floor(const Params& params, const TaskSpec& spec);

/// 5.5: the number of audited segments that are not finalised whose fees every lock covers, so that so many of a run's
/// audits go on at once.
inline constexpr std::uint64_t kAuditsAtRisk = 8;
/// 5.5: the number of audited segments whose fees are at most what is burned of the lock when all of it is lost.
std::uint64_t audits_covered(const Params& params, const TaskSpec& spec, const U256& lock);

/// 1 - (1-p_eff)^bad in parts per million, rounded down. For display; no rule reads it.
std::uint64_t detection_ppm(const Ratio& probability, std::uint64_t bad_segments);

/// Expected audit fees as a share of the price of all segments, in basis points: p·(n-2) + 2 audits of v fees each.
std::uint64_t audit_cost_bp(const Params& params, const TaskSpec& spec);

}  // namespace retrace::market
