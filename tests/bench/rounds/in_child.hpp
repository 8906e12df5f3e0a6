// SPDX-License-Identifier: MIT
// A measurement in a process of its own.
#pragma once

#include <functional>

namespace retrace::bench {

/// Calls `measure` in a child, because a process enters new network namespaces once. Throws what it throws.
double in_child(const std::function<double()>& measure);

}  // namespace retrace::bench
