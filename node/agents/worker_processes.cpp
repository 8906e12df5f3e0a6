// SPDX-License-Identifier: MIT
#include "node/agents/worker_processes.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

#include "kernels/program/limits.hpp"
#include "node/agents/agent_process.hpp"
#include "node/platform/printable.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/worker/remote_runner.hpp"

namespace retrace::node {

WorkerProcesses::WorkerProcesses(const WorkerSettings& settings, bool sandbox, bool device_sandbox)
    : settings_(settings),
      sandbox_(sandbox),
      device_sandbox_(device_sandbox),
      record_(std::make_shared<solver::WorkerRecord>([report = settings.report](const std::string& what) {
          if (report) return report(printable(what));
          spdlog::warn("event=worker_ended reason=\"{}\"", printable(what));
      })) {}

Result<std::unique_ptr<WorkerProcesses>> WorkerProcesses::open(const WorkerSettings& settings) {
    using solver::DeviceChoice;
    WorkerSettings used = settings;
    const auto warn = [&](const std::string& why, const std::string& effect) {
        if (settings.report) return settings.report(why + ": " + effect);
        spdlog::warn("event=no_sandbox reason=\"{}\" effect=\"{}\"", why, effect);
    };
    const bool sandbox = solver::sandbox_is_supported();
    if (!sandbox) {
        const std::string why =
            "no sandbox: this kernel has no seccomp filters for this processor, or this build no "
            "libseccomp";
        if (settings.require_sandbox)
            return error(why +
                         "; run on a machine whose kernel has them (CONFIG_SECCOMP_FILTER), build with "
                         "libseccomp-dev, or leave out --require-sandbox");
        warn(why, "tasks run in processes with the rights of this user");
    }
    bool device_sandbox = sandbox;
    if (used.device != DeviceChoice::cpu && solver::check_device(DeviceChoice::cuda)) {
        const char* const why = "a device's driver opens files, so a process that uses a device has no sandbox";
        if (settings.require_sandbox && used.device == DeviceChoice::cuda)
            return error(std::string(why) + "; choose --device cpu, or leave out --require-sandbox");
        if (settings.require_sandbox) used.device = DeviceChoice::cpu;
        device_sandbox = false;
        warn(why, settings.require_sandbox ? "tasks run on the processors" : "tasks run on the device without it");
    }
    return std::unique_ptr<WorkerProcesses>(new WorkerProcesses(used, sandbox, device_sandbox));
}

Result<std::unique_ptr<WorkerProcesses>> WorkerProcesses::open_for_command(
    std::function<void(const std::string&)> report) {
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    return open({threads, default_memory(), solver::DeviceChoice::cpu, false, std::move(report)});
}

solver::RunnerFactory WorkerProcesses::make(solver::DeviceChoice device, bool sandbox, const char* purpose) const {
    constexpr std::uint64_t kOwn = 256u << 20;  // For threads, libraries and message buffers.
    solver::WorkerOptions options;
    options.limits = {kernels::saturating_add(settings_.memory, kOwn), settings_.threads, sandbox};
    if (!settings_.offload.empty()) {
        options.limits.offload = settings_.offload;
        options.limits.share = settings_.memory / 2;  // The other half is for the initialiser.
        std::error_code unknown;
        const std::uint64_t free = std::filesystem::space(settings_.offload, unknown).available;
        options.limits.disk = unknown ? 0 : free / 4 * 3;
    }
    options.device = device;
    return solver::remote_runners(std::move(options), record_, purpose);
}

solver::RunnerFactory WorkerProcesses::runners() const {
    const bool device = settings_.device != solver::DeviceChoice::cpu;
    return make(settings_.device, device ? device_sandbox_ : sandbox_, "");
}

solver::RunnerFactory WorkerProcesses::initialisers() const {
    return make(solver::DeviceChoice::cpu, sandbox_, " initialiser");
}

}  // namespace retrace::node
