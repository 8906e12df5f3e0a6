// SPDX-License-Identifier: MIT
#include "market/price_curve.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::market {

using ledger::U256;

U256 price_on_curve(const U256& first, const U256& last, std::uint64_t step, std::uint64_t steps) {
    ensure(first <= last && last.limbs()[2] == 0 && last.limbs()[3] == 0, "a curve rises, below 2^128");
    if (step >= steps) return last;
    return first + ledger::mul_div(last - first, U256(step), U256(steps));
}

}  // namespace retrace::market
