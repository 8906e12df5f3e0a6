// SPDX-License-Identifier: MIT
// Amounts as people write them: coins of 18 decimals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/types/u256.hpp"

namespace retrace::node {

/// "1.5" or "2" coins; also "100 wei". At most 18 decimals, digits and one point only; nullopt otherwise or
/// when it is over 2^128 of the smallest unit.
std::optional<ledger::U256> parse_coins(std::string_view text);
/// Exact, without trailing zeros: "1.5", "0.000000000000000001", "2".
std::string format_coins(const ledger::U256& amount);
/// Rounded towards zero to `decimals` places, always with that many: "1.500".
std::string format_coins(const ledger::U256& amount, unsigned decimals);

}  // namespace retrace::node
