// SPDX-License-Identifier: MIT
#include "market/price_curve.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::market {

U256 price_on_curve(const U256& first, const U256& last, std::uint64_t step, std::uint64_t steps) {
    ensure(first <= last && last.limbs()[2] == 0 && last.limbs()[3] == 0, "a curve rises, below 2^128");
    if (step >= steps) return last;
    return first + ledger::mul_div(last - first, U256(step), U256(steps));
}

U256 ceiling_after(const TaskSpec& spec, const Auctions& auctions, std::uint32_t failed) {
    const U256 last = std::max(auctions.first, spec.last_ceiling);
    if (last.limbs()[2] != 0 || last.limbs()[3] != 0) return last;  // No chain has it, but a node may lie.
    return std::max(auctions.least, price_on_curve(auctions.first, last, failed, std::uint64_t{spec.auctions} - 1));
}

U256 covered_ceiling(const TaskSpec& spec, const Auctions& auctions) {
    return std::max(spec.highest_ceiling(), auctions.least);
}

}  // namespace retrace::market
