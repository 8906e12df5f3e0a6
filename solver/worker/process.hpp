// SPDX-License-Identifier: MIT
// Starts and ends a worker process of a party.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "solver/worker/serve.hpp"

namespace retrace::solver {

/// A running worker process. The destructor ends it, and it ends by itself when this process ends in any way. It is
/// executed anew with two pipes and its limits: no other open files, no environment but RETRACE_CPU.
class WorkerProcess {
public:
    /// Runs `executable worker LIMITS LABEL`. The label shows in lists of processes. Ignores SIGPIPE in this process,
    /// so that writing to a closed pipe is an error.
    static Result<std::unique_ptr<WorkerProcess>> start(const std::filesystem::path& executable,
                                                        const WorkerLimits& limits, const std::string& label);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Channel& channel() noexcept { return channel_; }
    int pid() const noexcept { return pid_; }
    /// Ends the process if it still runs; returns a description of how it ended.
    std::string end();
    bool is_over() const noexcept { return !ended_.empty(); }

private:
    WorkerProcess(int pid, int in, int out) : pid_(pid), channel_(in, out) {}

    int pid_;
    Channel channel_;
    std::string ended_;
};

}  // namespace retrace::solver
