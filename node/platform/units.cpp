// SPDX-License-Identifier: MIT
#include "node/platform/units.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

using ledger::U256;

constexpr std::size_t kDecimals = 18;
constexpr std::uint64_t kCoin = 1'000'000'000'000'000'000;
constexpr std::uint64_t kMicrocoin = 1'000'000'000'000;  // the sixth decimal

std::optional<U256> bounded(std::optional<U256> amount) {
    if (!amount || amount->limbs()[2] != 0 || amount->limbs()[3] != 0) return std::nullopt;
    return amount;
}

std::string decimals_of(const U256& amount) {
    std::string fraction = (amount % U256(kCoin)).to_decimal();
    return std::string(kDecimals - fraction.size(), '0') + fraction;
}

}  // namespace

std::optional<U256> parse_coins(std::string_view text) {
    if (text.ends_with(" wei")) return bounded(U256::from_decimal(text.substr(0, text.size() - 4)));
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string_view whole = text.substr(0, point);
    const std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view{};
    if (whole.empty() || (point < text.size() && fraction.empty()) || fraction.size() > kDecimals) return std::nullopt;
    const std::string digits =
        std::string(whole) + std::string(fraction) + std::string(kDecimals - fraction.size(), '0');
    return bounded(U256::from_decimal(digits));
}

std::string format_coins(const U256& amount) {
    std::string fraction = decimals_of(amount);
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    const std::string whole = (amount / U256(kCoin)).to_decimal();
    return fraction.empty() ? whole : whole + "." + fraction;
}

std::string format_coins(const U256& amount, unsigned decimals) {
    const std::string whole = (amount / U256(kCoin)).to_decimal();
    if (decimals == 0) return whole;
    return whole + "." + decimals_of(amount).substr(0, std::min<std::size_t>(decimals, kDecimals));
}

std::string describe_coins(const U256& amount) {
    if (amount < U256(kMicrocoin / 2) && !amount.is_zero()) return "less than 0.000001 coins";
    const std::string text = format_coins((amount + U256(kMicrocoin / 2)) / U256(kMicrocoin) * U256(kMicrocoin));
    return text + (text == "1" ? " coin" : " coins");
}

std::string describe_coins_needed(const U256& amount) {
    const std::string text = format_coins((amount + U256(kMicrocoin - 1)) / U256(kMicrocoin) * U256(kMicrocoin));
    return text + (text == "1" ? " coin" : " coins");
}

}  // namespace retrace::node
