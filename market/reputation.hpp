// SPDX-License-Identifier: MIT
// How a solver's past weighs in auctions. SPEC 4.3.
#pragma once

#include "market/types.hpp"

namespace retrace::market {

/// In basis points: 10,000 for a newcomer, down to 9,000 for one with many settled tasks, up to 20,000 for faults.
std::uint64_t reputation_weight(const Reputation& reputation) noexcept;

}  // namespace retrace::market
