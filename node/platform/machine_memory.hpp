// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::node {

/// Bytes that this process may have in all: the least of what the machine has, what the process may map
/// (`ulimit -v`) and what its control group may use (cgroup v2). Where the system says none of them, any number.
std::uint64_t memory_limit();
/// What of it nobody has taken yet, now.
std::uint64_t memory_left();

}  // namespace retrace::node
