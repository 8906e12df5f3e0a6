// SPDX-License-Identifier: MIT
// Runs a program on a device with less memory than its state and activations take: they lie in the host's memory, and on
// the device while a unit of the plan uses them (decisions/018).
#pragma once

#include <memory>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels::cuda {

/// Bytes of a step's transfers, of the device memory, and of the host's memory: three times the state, and the pieces of
/// the arena that are moved.
struct OffloadedBytes {
    std::uint64_t to_device = 0, from_device = 0, device = 0, host = 0;
};

struct OffloadedLimits {
    std::uint64_t device = 0;         ///< Bytes of device memory; 0: three quarters of what is free.
    std::uint64_t host = UINT64_MAX;  ///< Bytes of the host's memory.
};

/// The back end of a program within these limits. `program` must have passed `check` and must outlive it. Errors: no device;
/// too little memory of either, with the bytes of the least that works. `bytes`, if not null, is set.
Result<std::unique_ptr<ExternalBackend>> make_offloaded_backend(const Program& program, const OffloadedLimits& limits,
                                                                OffloadedBytes* bytes = nullptr);
/// The least OffloadedLimits::device.
std::uint64_t least_offloaded_bytes(const Program& program);

}  // namespace retrace::kernels::cuda
