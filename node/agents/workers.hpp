// SPDX-License-Identifier: MIT
// The worker processes of a party (solver/worker): what strangers wrote runs there, and not beside the key.
#pragma once

#include <memory>

#include "solver/agent/task_cache.hpp"
#include "solver/worker/record.hpp"

namespace retrace::node {

struct WorkerSettings {
    unsigned threads = 1;
    std::uint64_t memory = 0;  ///< That tasks may take; a worker gets a little more for itself.
    solver::DeviceChoice device = solver::DeviceChoice::cpu;
    bool require_sandbox = false;
};

class Workers {
public:
    /// Says so where there is no sandbox for them, or fails if one is required: the kernel or this build has none, or a
    /// device computes, whose driver opens files.
    static Result<std::unique_ptr<Workers>> open(const WorkerSettings& settings);

    /// Of training programs, on the device where there is one.
    solver::RunnerFactory runners() const;
    /// Of initialisers, on the processors.
    solver::RunnerFactory initialisers() const;
    solver::WorkerRecord::Figures figures() const { return record_->figures(); }

private:
    Workers(const WorkerSettings& settings, bool sandbox, bool device_sandbox);
    solver::RunnerFactory make(solver::DeviceChoice device, bool sandbox, const char* purpose) const;

    WorkerSettings settings_;
    bool sandbox_, device_sandbox_;
    std::shared_ptr<solver::WorkerRecord> record_;
};

}  // namespace retrace::node
