// SPDX-License-Identifier: MIT
// The worker processes of a party (solver/worker): programs of strangers run there, separate from the key.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "solver/agent/task_cache.hpp"
#include "solver/worker/record.hpp"

namespace retrace::node {

struct WorkerSettings {
    unsigned threads = 1;
    std::uint64_t memory = 0;  ///< Memory quota of tasks in bytes; a worker gets a little more for itself.
    solver::DeviceChoice device = solver::DeviceChoice::cpu;
    bool require_sandbox = false;
    std::function<void(const std::string&)> report = {};  ///< Takes warnings; they go to the log if it is empty.
    std::filesystem::path offload = {};  ///< Folder on a disk for states that do not fit `memory`; empty: none.
};

class WorkerProcesses {
public:
    /// Warns when workers have no sandbox, or fails if one is required: the kernel or this build does not support one,
    /// or a device is used, whose driver opens files.
    static Result<std::unique_ptr<WorkerProcesses>> open(const WorkerSettings& settings);
    /// For a command that runs a stranger's program: all processors, default_memory(), warnings to `report`.
    static Result<std::unique_ptr<WorkerProcesses>> open_for_command(std::function<void(const std::string&)> report);

    /// Runners of training programs, on the device if there is one.
    solver::RunnerFactory runners() const;
    /// Runners of initialisers, on the CPU.
    solver::RunnerFactory initialisers() const;
    solver::WorkerRecord::Figures figures() const { return record_->figures(); }

private:
    WorkerProcesses(const WorkerSettings& settings, bool sandbox, bool device_sandbox);
    solver::RunnerFactory make(solver::DeviceChoice device, bool sandbox, const char* purpose) const;

    WorkerSettings settings_;
    bool sandbox_, device_sandbox_;
    std::shared_ptr<solver::WorkerRecord> record_;
};

}  // namespace retrace::node
