// SPDX-License-Identifier: MIT
#include "market/escrow.hpp"

namespace retrace::market {

std::optional<Escrow> escrow_of(const TaskSpec& spec, const Params& params) {
    const U256 units = U256(spec.segments()) * U256(spec.replicas);
    const auto work = checked_mul(spec.price_ceiling, units);
    const auto audits = checked_mul(params.audit_fee * U256(spec.auditors), units);
    if (!work || !audits || !checked_add(*work, *audits)) return std::nullopt;
    return Escrow{*work, *audits};
}

Split split(const U256& amount, std::uint64_t share_bp) {
    const U256 share = ledger::mul_div(amount, share_bp, kBasisPoints);
    return {share, amount - share};
}

}  // namespace retrace::market
