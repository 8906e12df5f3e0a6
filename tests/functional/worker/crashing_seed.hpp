// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::testing {

/// Of tasks whose programs crash the worker of crashing_retrace,
inline constexpr std::uint64_t kCrashingSeed = 666;
/// or keep it from ever being ready,
inline constexpr std::uint64_t kSilentSeed = 667;
/// or take it over and answer a step by a byte now and then.
inline constexpr std::uint64_t kDrippingSeed = 668;

}  // namespace retrace::testing
