// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace retrace::kernels::tools {

/// Calls `body` in a process of its own and gives what it returned. A body that throws, crashes or ends its process
/// does not end this one: the text then says how it ended, and is never empty. This process has no other threads.
std::string in_child(const std::function<std::string()>& body);

}  // namespace retrace::kernels::tools
