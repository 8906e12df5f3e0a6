// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "kernels/exec/executor.hpp"

namespace retrace::solver {

/// Opens the CUDA back end for a program whose state may take more than the device's memory: what does not fit lies in the
/// host's, three times the state and the activations that are moved. `device_memory`: bytes of device memory; 0: three
/// quarters of what is free. `host_memory`: bytes of the host's. `program` is checked and must outlive it. Errors: no CUDA in
/// this build, no device, too little memory of either.
Result<std::unique_ptr<kernels::ExternalBackend>> open_offloaded_device(const kernels::Program& program,
                                                                        std::uint64_t device_memory,
                                                                        std::uint64_t host_memory);

}  // namespace retrace::solver
