// SPDX-License-Identifier: MIT
#include "node/cmd/fiat.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "node/platform/units.hpp"

namespace retrace::node::cli {

void FiatOption::add_to(CLI::App& command) {
    command.add_option("--fiat", text, "What a coin costs, to show amounts in that currency too: \"0.35 EUR\"");
}

Result<std::optional<FiatRate>> FiatOption::rate() const {
    if (text.empty()) return std::optional<FiatRate>();
    FiatRate out;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out.per_coin);
    out.currency.assign(end, text.data() + text.size());
    const bool named =
        out.currency.size() >= 2 && out.currency.size() <= 9 && out.currency.front() == ' ' &&
        std::all_of(out.currency.begin() + 1, out.currency.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
    if (failed != std::errc() || !std::isfinite(out.per_coin) || out.per_coin <= 0 || !named)
        return error("--fiat is a price of a coin and a currency, like \"0.35 EUR\", not \"" + text + "\"");
    out.currency.erase(0, 1);
    return std::optional(std::move(out));
}

std::string with_fiat(const ledger::U256& amount, const std::optional<FiatRate>& rate) {
    std::string out = describe_coins(amount);
    if (!rate) return out;
    char money[64];
    std::snprintf(money, sizeof money, " (about %.2f ", std::stod(format_coins(amount)) * rate->per_coin);
    return out + money + rate->currency + ")";
}

}  // namespace retrace::node::cli
