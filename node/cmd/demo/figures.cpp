// SPDX-License-Identifier: MIT
#include "node/cmd/demo/figures.hpp"

#include <iomanip>
#include <sstream>

#include "node/platform/units.hpp"

namespace retrace::node {

std::string coins_of(const boost::json::value& amount) {
    const auto parsed = amount.is_string() ? ledger::U256::from_decimal(amount.get_string().c_str()) : std::nullopt;
    return format_coins(parsed.value_or(ledger::U256{}), 4);
}

std::string bits_of(const boost::json::value& bits) {
    std::ostringstream text;
    text << "0x" << std::hex << std::setfill('0') << std::setw(8) << bits.to_number<std::uint32_t>();
    return text.str();
}

}  // namespace retrace::node
