// SPDX-License-Identifier: MIT
// Runs CometBFT as a child process: starts it again when it ends, and says why when that does not help.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node::engine {

struct SupervisorOptions {
    std::filesystem::path program;  ///< The executable `cometbft`.
    std::filesystem::path home;
    std::filesystem::path log;
    std::uint64_t log_max = 32U << 20;  ///< A log of this size goes on in an empty file; the old one is kept as LOG.1.
    std::vector<std::string> environment;   ///< Further variables, "NAME=value".
    std::function<std::uint64_t()> height;  ///< Of the last committed block.
    std::function<void()> before_start;     ///< Removes what a killed child has left in the way.
    std::function<void()> on_start;         ///< The child was started, for the first time or again.
    /// Called several times a second. Returns why the child is to be ended and started again; empty: it goes on.
    std::function<std::string()> on_tick;
    std::function<void(const std::string&)> on_failed;  ///< It is given up, for this reason; called once.
};

class Supervisor {
public:
    /// Starts the child from a thread that lives as long as the supervisor; the child dies with it.
    explicit Supervisor(SupervisorOptions options);
    /// Ends the child: SIGTERM, and SIGKILL after ten seconds.
    ~Supervisor();

private:
    void run();
    /// Waits until the child ends or is to end. Returns why it ended; empty: the supervisor stops.
    std::string watch();
    bool wait(std::chrono::milliseconds time);  ///< False: the supervisor stops.
    /// What CometBFT wrote since the last call about a failure that it does not end for.
    std::string consensus_failure();
    void rotate_log();

    SupervisorOptions options_;
    std::uint64_t log_read_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

/// The report of CometBFT that its consensus or its state sync has stopped for good, although its process lives, from
/// whole lines of its log; empty if there is none.
std::string find_consensus_failure(std::string_view log);

/// The executable: `configured`, or `cometbft` beside this program, in PATH or in Go's folder. Empty if there is none.
std::filesystem::path find_comet(const std::string& configured);
/// The same; an Error that names the remedy if there is none.
Result<std::filesystem::path> comet_program(const std::string& configured);

}  // namespace retrace::node::engine
