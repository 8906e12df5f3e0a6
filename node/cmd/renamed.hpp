// SPDX-License-Identifier: MIT
// Renamed flags and --json keys: the old names work for one more version. This is the only table of them.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace retrace::node::cli {

/// Returns "--timeout=3" for "--patience=3" with a warning on standard error, and any other argument unchanged.
std::string with_current_name(std::string argument);

/// Adds the values of renamed keys under their old keys too.
void add_old_keys(boost::json::object& out);

}  // namespace retrace::node::cli
