// SPDX-License-Identifier: MIT
// A worker process, seen from the party that starts it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "solver/worker/serve.hpp"

namespace retrace::solver {

/// Runs as long as this lives: ended with it, and by itself when this process ends however it does. It gets two pipes
/// and its limits, and nothing else: another program image, no open files, no environment but RETRACE_CPU.
class WorkerProcess {
public:
    /// Runs `executable worker LIMITS LABEL`. The label is for whoever lists processes. From now on a pipe that nobody
    /// reads is an error of this process, and not its end (SIGPIPE).
    static Result<std::unique_ptr<WorkerProcess>> start(const std::filesystem::path& executable,
                                                        const WorkerLimits& limits, const std::string& label);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    Channel& channel() noexcept { return channel_; }
    int pid() const noexcept { return pid_; }
    /// Ends it, if it has not ended by itself: which of both, and how, in words.
    std::string end();
    bool is_over() const noexcept { return !ended_.empty(); }

private:
    WorkerProcess(int pid, int in, int out) : pid_(pid), channel_(in, out) {}

    int pid_;
    Channel channel_;
    std::string ended_;
};

}  // namespace retrace::solver
