// SPDX-License-Identifier: MIT
// Where a party computes steps: the bits are the same everywhere, so it is the party's own affair.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "kernels/exec/executor.hpp"

namespace retrace::solver {

enum class DeviceChoice : std::uint8_t {
    cpu = 1,
    cuda = 2,       ///< Or nothing.
    automatic = 3,  ///< CUDA where it is there and the program fits its memory, otherwise the CPU.
};

/// "cpu", "cuda" or "auto".
std::optional<DeviceChoice> parse_device(std::string_view name);

/// Whether the choice can be had here. The error says what is missing: a build with CUDA, or a device, in the driver's
/// words.
Status<> check_device(DeviceChoice choice);

/// The back end for `program` (checked, outlives it); null: the CPU. Errors of `cuda`: as above; too little device
/// memory, naming the bytes asked for and those free.
Result<std::unique_ptr<kernels::ExternalBackend>> open_device(DeviceChoice choice, const kernels::Program& program);

/// Bytes of device memory that training `program` takes; nothing in a build without CUDA. Asks no device.
std::optional<std::uint64_t> device_bytes(const kernels::Program& program);

}  // namespace retrace::solver
