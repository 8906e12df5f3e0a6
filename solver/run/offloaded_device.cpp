// SPDX-License-Identifier: MIT
#include "solver/run/offloaded_device.hpp"

#include "solver/run/device.hpp"

#if defined(RETRACE_WITH_CUDA)
#include "kernels/cuda/offloaded.hpp"
#endif

namespace retrace::solver {

Result<std::unique_ptr<kernels::ExternalBackend>> open_offloaded_device(const kernels::Program& program,
                                                                        std::uint64_t device_memory,
                                                                        std::uint64_t host_memory) {
    RETRACE_CHECK(check_device(DeviceChoice::cuda));
#if defined(RETRACE_WITH_CUDA)
    return kernels::cuda::make_offloaded_backend(program, {device_memory, host_memory});
#else
    (void)program, (void)device_memory, (void)host_memory;
    return error("no CUDA in this build");  // check_device said so before
#endif
}

}  // namespace retrace::solver
