// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::testing {

/// A task with this seed crashes the worker of crashing_retrace.
inline constexpr std::uint64_t kCrashingSeed = 666;
/// A task with this seed keeps the worker from ever becoming ready.
inline constexpr std::uint64_t kSilentSeed = 667;
/// A task with this seed takes over the worker and answers a step one byte at a time.
inline constexpr std::uint64_t kDrippingSeed = 668;

}  // namespace retrace::testing
