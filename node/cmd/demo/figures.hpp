// SPDX-License-Identifier: MIT
// Figures of the demos' JSON as the closing tables print them.
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace retrace::node {

/// A decimal number of the smallest unit, in coins with four places.
std::string coins_of(const boost::json::value& amount);
/// 32 bits in hex.
std::string bits_of(const boost::json::value& bits);

}  // namespace retrace::node
