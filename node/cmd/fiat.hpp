// SPDX-License-Identifier: MIT
// Amounts in another currency beside coins, at a rate that the user sets.
#pragma once

#include <optional>
#include <string>

#include "ledger/types/u256.hpp"
#include "merkle/base/result.hpp"

namespace CLI {
class App;
}

namespace retrace::node::cli {

/// What a coin costs in another currency.
struct FiatRate {
    double per_coin = 0;
    std::string currency;
};

/// --fiat, which the client file may set: "0.35 EUR".
struct FiatOption {
    std::string text;

    void add_to(CLI::App& command);
    /// nullopt if none is set.
    Result<std::optional<FiatRate>> rate() const;
};

/// "1.5 coins", with a rate "1.5 coins (about 0.53 EUR)".
std::string with_fiat(const ledger::U256& amount, const std::optional<FiatRate>& rate);

}  // namespace retrace::node::cli
