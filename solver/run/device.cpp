// SPDX-License-Identifier: MIT
#include "solver/run/device.hpp"

#if defined(RETRACE_WITH_CUDA)
#include "kernels/cuda/executor.hpp"
#endif

namespace retrace::solver {
namespace {

using Opened = Result<std::unique_ptr<kernels::ExternalBackend>>;

#if defined(RETRACE_WITH_CUDA)
Status<> check_cuda() {
    RETRACE_CHECK(kernels::cuda::find_device());
    return Unit{};
}
Opened open_cuda(const kernels::Program& program) { return kernels::cuda::make_backend(program); }
std::optional<std::uint64_t> bytes_on_cuda(const kernels::Program& program) {
    return kernels::cuda::device_bytes(program);
}
#else
Status<> check_cuda() {
    return error("no CUDA in this build: configure it with -DRETRACE_CUDA=ON where nvcc 12 or newer is");
}
Opened open_cuda(const kernels::Program&) { return Unexpected{check_cuda().error()}; }
std::optional<std::uint64_t> bytes_on_cuda(const kernels::Program&) { return std::nullopt; }
#endif

}  // namespace

std::optional<DeviceChoice> parse_device(std::string_view name) {
    if (name == "cpu") return DeviceChoice::cpu;
    if (name == "cuda") return DeviceChoice::cuda;
    if (name == "auto") return DeviceChoice::automatic;
    return std::nullopt;
}

Status<> check_device(DeviceChoice choice) { return choice == DeviceChoice::cuda ? check_cuda() : Status<>(Unit{}); }

Opened open_device(DeviceChoice choice, const kernels::Program& program) {
    if (choice == DeviceChoice::cpu) return std::unique_ptr<kernels::ExternalBackend>();
    auto opened = open_cuda(program);
    if (!opened && choice == DeviceChoice::automatic) return std::unique_ptr<kernels::ExternalBackend>();
    return opened;
}

std::optional<std::uint64_t> device_bytes(const kernels::Program& program) { return bytes_on_cuda(program); }

}  // namespace retrace::solver
