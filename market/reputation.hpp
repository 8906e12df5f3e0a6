// SPDX-License-Identifier: MIT
// The weight of a solver's reputation in auctions. SPEC 4.3.
#pragma once

#include "market/types.hpp"

namespace retrace::market {

/// Weight in basis points: 10,000 for a newcomer, down to 9,000 with many settled tasks, up to 20,000 with faults.
std::uint64_t reputation_weight(const Reputation& reputation) noexcept;

}  // namespace retrace::market
