// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::node {

/// Memory limit of this process in bytes: the least of the machine's memory, the address space limit (`ulimit -v`) and
/// the limit of its control group (cgroup v2). UINT64_MAX if none of them can be determined.
std::uint64_t memory_limit();
/// Bytes that are currently unused: the least over the same three limits.
std::uint64_t memory_left();

}  // namespace retrace::node
