// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace retrace::node {

/// Logs go to standard error as one line each: time=… level=… and what the caller wrote as key=value.
/// Standard output belongs to results. `level` is one of config's.
void set_up_log(const std::string& level);

}  // namespace retrace::node
