// SPDX-License-Identifier: MIT
// A price that rises from one posting of a task to the next. SPEC 14.
#pragma once

#include "ledger/types/u256.hpp"

namespace retrace::market {

/// 14.1: first + (last - first) · step / steps, rounded down; `last` from `steps` on. Requires first ≤ last < 2^128
/// (asserted).
ledger::U256 price_on_curve(const ledger::U256& first, const ledger::U256& last, std::uint64_t step,
                            std::uint64_t steps);

}  // namespace retrace::market
