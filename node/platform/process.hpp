// SPDX-License-Identifier: MIT
// Child processes: CometBFT, and those of the demo and the functional tests.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// A running child. It is killed when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)), also when that is
/// killed: start it from a thread that outlives it. Move-only; the destructor stops it.
class Process {
public:
    /// Runs `program` with `arguments`; standard output and error are appended to `log`. Its environment is ours, with
    /// the variables of `environment` ("NAME=value") in the place of those with the same names.
    static Result<Process> start(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                                 const std::filesystem::path& log, const std::vector<std::string>& environment = {});
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    int pid() const noexcept { return pid_; }
    bool running();                    ///< Reaps it when it has ended.
    std::optional<int> exit_status();  ///< Exit code, or 128 + signal, once it has ended.
    void send(int signal);
    /// Sends SIGTERM, waits up to `timeout`, then sends SIGKILL; returns when it has ended.
    void stop(std::chrono::milliseconds timeout = std::chrono::seconds(5));
    void kill();  ///< Sends SIGKILL and waits.

private:
    explicit Process(int pid) : pid_(pid) {}
    int pid_ = -1;
    std::optional<int> status_;
};

/// Returns a TCP port of the loopback interface that was free at the time of the call.
Result<std::uint16_t> free_port();
/// Returns the path of the running executable.
std::filesystem::path own_executable();

}  // namespace retrace::node
