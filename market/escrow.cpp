// SPDX-License-Identifier: MIT
#include "market/escrow.hpp"

#include <algorithm>

namespace retrace::market {

U256 audit_fee(const Params& params, const TaskSpec& spec) {
    return std::max(params.audit_fee, ledger::mul_div(spec.price_ceiling, params.audit_fee_bp, kBasisPoints));
}

U256 challenge_bond(const Params& params, const TaskSpec& spec) {
    // 6.5: half of the bond pays for two executions of the segment and three of one step. The product cannot overflow,
    // because the ceiling is below 2^128.
    const std::uint64_t steps = std::max<std::uint64_t>(1, spec.interval);
    const U256 single_steps = (spec.price_ceiling * U256(6) + U256(steps - 1)) / U256(steps);
    return std::max(params.challenge_bond, spec.price_ceiling * U256(4) + single_steps);
}

std::optional<Escrow> escrow_of(const TaskSpec& spec, const Params& params) {
    const U256 units = U256(spec.segments()) * U256(spec.replicas);
    const auto work = checked_mul(spec.price_ceiling, units);
    const auto audits = checked_mul(audit_fee(params, spec), U256(spec.auditors) * units);
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
    TaskSpec raised = spec;
    raised.price_ceiling = ceiling;
    const Escrow now = escrow_of_more(spec, params, first, spec.replicas);
    const Escrow then = escrow_of_more(raised, params, first, spec.replicas);
    return {then.work - now.work, then.audits - now.audits};
}

Escrow escrow_of_more(const TaskSpec& spec, const Params& params, std::uint64_t first, std::uint8_t replicas) {
    const U256 units = U256(spec.segments() - first) * U256(replicas);
    // This cannot overflow: postTask has checked that the whole escrow fits, and five times that is below 2^256 (the
    // ceiling and the fee are below 2^128, the units below 2^23).
    return {spec.price_ceiling * units, audit_fee(params, spec) * U256(spec.auditors) * units};
}

}  // namespace retrace::market
