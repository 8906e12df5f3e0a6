// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace retrace::kernels::tools {

/// Calls `body` in a child process and returns its result. If the body throws, crashes or exits, this process
/// continues, and the result is a text, never empty, that says how the child ended. The calling process must have no
/// other threads.
std::string in_child(const std::function<std::string()>& body);

}  // namespace retrace::kernels::tools
