// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "node/platform/log_tail.hpp"

namespace retrace::node {

/// Sets up logging to standard error, one line per entry: time=… level=… and the caller's key=value text. Standard
/// output is reserved for results. `level` is a value of LogConfig::level. `tail`, if any, gets every entry too.
void set_up_log(const std::string& level, std::shared_ptr<LogTail> tail = nullptr);

}  // namespace retrace::node
