// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrace::node {

/// Sets up logging to standard error, one line per entry: time=… level=… and the caller's key=value text. Standard
/// output is reserved for results. `level` is a value of LogConfig::level.
void set_up_log(const std::string& level);

}  // namespace retrace::node
