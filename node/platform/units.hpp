// SPDX-License-Identifier: MIT
// Amounts as decimal text in coins (18 decimals).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledger/types/u256.hpp"

namespace retrace::node {

/// Parses "1.5" or "2" coins, or "100 wei". At most 18 decimals, only digits and one point; nullopt otherwise or if the
/// amount is 2^128 of the smallest unit or more.
std::optional<ledger::U256> parse_coins(std::string_view text);
/// Formats the exact amount without trailing zeros: "1.5", "0.000000000000000001", "2".
std::string format_coins(const ledger::U256& amount);
/// Rounds towards zero to exactly `decimals` places: "1.500".
std::string format_coins(const ledger::U256& amount, unsigned decimals);

/// The amount for people, rounded to at most six decimals: "47.5 coins", "less than 0.000001 coins".
std::string describe_coins(const ledger::U256& amount);
/// The same rounded upwards, for an amount that is needed.
std::string describe_coins_needed(const ledger::U256& amount);

}  // namespace retrace::node
