// SPDX-License-Identifier: MIT
// Runs a program on a device with less memory than its state and activations take: they lie in the host's memory, and on
// the device while a unit of the plan uses them (decisions/018).
#pragma once

#include <memory>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels::cuda {

/// Bytes of a step's transfers, and of the device memory.
struct OffloadedBytes {
    std::uint64_t to_device = 0, from_device = 0, device = 0;
};

/// The back end of a program for `memory` bytes of device memory, 0: three quarters of what is free. `program` must have passed `check` and must outlive it.
/// Errors: no device; too little memory, with the bytes of the least that works. `bytes`, if not null, is set.
Result<std::unique_ptr<ExternalBackend>> make_offloaded_backend(const Program& program, std::uint64_t memory,
                                                                OffloadedBytes* bytes = nullptr);
/// The least such `memory`.
std::uint64_t least_offloaded_bytes(const Program& program);

}  // namespace retrace::kernels::cuda
