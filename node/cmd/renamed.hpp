// SPDX-License-Identifier: MIT
// Flags and keys of --json that have a new name: the old one works for one more version. The one table of them.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace retrace::node::cli {

/// "--timeout=3" for "--patience=3", and says so on standard error; any other argument as it is.
std::string with_current_name(std::string argument);

/// Gives values whose key was renamed their old key too.
void add_old_keys(boost::json::object& out);

}  // namespace retrace::node::cli
