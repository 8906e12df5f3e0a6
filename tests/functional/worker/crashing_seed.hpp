// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::testing {

/// Of tasks whose programs crash the worker of crashing_retrace.
inline constexpr std::uint64_t kCrashingSeed = 666;

}  // namespace retrace::testing
