// SPDX-License-Identifier: MIT
#include "market/escrow.hpp"

#include <algorithm>

namespace retrace::market {

namespace {

U256 fee_at(const Params& params, const U256& ceiling) {
    return std::max(params.audit_fee, ledger::mul_div(ceiling, params.audit_fee_bp, kBasisPoints));
}

/// What `units` segments cost at a ceiling. This cannot overflow: postTask has checked that the whole escrow fits, and
/// five times that is below 2^256 (the ceiling and the fee are below 2^128, the units below 2^23).
Escrow cost_at(const TaskSpec& spec, const Params& params, const U256& units, const U256& ceiling) {
    return {ceiling * units, fee_at(params, ceiling) * U256(spec.auditors) * units};
}

U256 units_of(const TaskSpec& spec, std::uint64_t first, std::uint8_t replicas) {
    return U256(spec.segments() - first) * U256(replicas);
}

}  // namespace

U256 audit_fee(const Params& params, const TaskSpec& spec) { return fee_at(params, spec.price_ceiling); }

U256 challenge_bond(const Params& params, const TaskSpec& spec) {
    // 6.5: half of the bond pays for two executions of the segment and three of one step. The product cannot overflow,
    // because the ceiling is below 2^128.
    const std::uint64_t steps = std::max<std::uint64_t>(1, spec.interval);
    const U256 single_steps = (spec.price_ceiling * U256(6) + U256(steps - 1)) / U256(steps);
    return std::max(params.challenge_bond, spec.price_ceiling * U256(4) + single_steps);
}

std::optional<Escrow> escrow_of(const TaskSpec& spec, const Params& params) {
    const U256 units = units_of(spec, 0, spec.replicas);
    const U256& ceiling = spec.highest_ceiling();
    const auto work = checked_mul(ceiling, units);
    const auto audits = checked_mul(fee_at(params, ceiling), U256(spec.auditors) * units);
    if (!work || !audits || !checked_add(*work, *audits)) return std::nullopt;
    return Escrow{*work, *audits};
}

Split split(const U256& amount, std::uint64_t share_bp) {
    const U256 share = ledger::mul_div(amount, share_bp, kBasisPoints);
    return {share, amount - share};
}

Conviction conviction(const U256& lock, const U256& audit_fee, const Params& params) {
    const Split parts = split(lock, params.challenger_share_bp);
    const U256 spare = ledger::mul_div(parts.burned, params.safety_bp - kBasisPoints, params.safety_bp);
    return {parts.share, ledger::min(audit_fee, spare)};
}

Escrow escrow_of_top_up(const TaskSpec& spec, const Params& params, std::uint64_t first, const U256& ceiling) {
    const U256 units = units_of(spec, first, spec.replicas);
    const Escrow now = cost_at(spec, params, units, spec.highest_ceiling());
    const Escrow then = cost_at(spec, params, units, std::max(ceiling, spec.highest_ceiling()));
    return {then.work - now.work, then.audits - now.audits};
}

Escrow escrow_of_more(const TaskSpec& spec, const Params& params, std::uint64_t first, std::uint8_t replicas) {
    return cost_at(spec, params, units_of(spec, first, replicas), spec.price_ceiling);
}

}  // namespace retrace::market
