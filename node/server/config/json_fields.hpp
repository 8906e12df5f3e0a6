// SPDX-License-Identifier: MIT
// Fields of a genesis file's sections of parameters, by type.
#pragma once

#include <boost/json/value.hpp>

#include "node/platform/units.hpp"

namespace retrace::node {

/// Each returns false, and changes nothing, when the value is not what `wanted` says.
inline bool read_field(const boost::json::value& value, bool& field) {
    if (value.is_bool()) field = value.get_bool();
    return value.is_bool();
}
inline bool read_field(const boost::json::value& value, std::uint64_t& field) {
    if (!value.is_int64() || value.get_int64() < 0) return false;
    field = static_cast<std::uint64_t>(value.get_int64());
    return true;
}
inline bool read_field(const boost::json::value& value, ledger::U256& field) {
    const auto amount = value.is_string() ? parse_coins(std::string_view(value.get_string())) : std::nullopt;
    if (amount) field = *amount;
    return amount.has_value();
}

constexpr const char* wanted(const bool&) { return "true or false"; }
constexpr const char* wanted(const std::uint64_t&) { return "a whole number"; }
constexpr const char* wanted(const ledger::U256&) { return "coins in quotes, like \"0.5\""; }

}  // namespace retrace::node
