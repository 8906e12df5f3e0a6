// SPDX-License-Identifier: MIT
// The choice of the device that computes a party's steps. All devices give the same bits, so each party is free to
// choose.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "kernels/exec/executor.hpp"

namespace retrace::solver {

enum class DeviceChoice : std::uint8_t {
    cpu = 1,
    cuda = 2,       ///< CUDA only; an error where it is not available.
    automatic = 3,  ///< CUDA where it is available and the program fits its memory, otherwise the CPU.
};

/// "cpu", "cuda" or "auto".
std::optional<DeviceChoice> parse_device(std::string_view name);

/// Checks whether the choice is available here. The error says what is missing: CUDA in this build, or a device, with
/// the driver's message.
Status<> check_device(DeviceChoice choice);

/// Opens the back end for `program`, which is checked and must outlive it; null means the CPU. Errors of `cuda`: those
/// of check_device, and too little device memory, with the bytes needed and free.
Result<std::unique_ptr<kernels::ExternalBackend>> open_device(DeviceChoice choice, const kernels::Program& program);

/// Bytes of device memory that training `program` takes; nullopt in a build without CUDA. Does not access a device.
std::optional<std::uint64_t> device_bytes(const kernels::Program& program);

}  // namespace retrace::solver
