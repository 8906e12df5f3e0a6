// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::emulation {

/// The device that the emulated runtime reports.
struct EmulatedDevice {
    bool present = true;
    std::uint32_t capability = 80;
    std::uint32_t shared_limit = 163 * 1024;
    bool warpgroups = false;
    std::uint64_t memory = std::uint64_t{1} << 30;
    bool says_memory = true;               ///< Otherwise it says 0, so that programs are rewritten to take little.
    std::uint64_t taken = 0;               ///< Bytes in use.
    bool failing = false;                  ///< Every call fails, as after a kernel with an invalid memory access.
    std::uint64_t works_for = UINT64_MAX;  ///< Number of calls after which it fails.
    std::uint64_t turns = 0;  ///< How often a thread ran from its start or a barrier to the next barrier or its end.
    std::uint64_t copied_in = 0, copied_out = 0;  ///< Bytes copied between host and device.
};
extern EmulatedDevice device;

}  // namespace retrace::emulation
