// SPDX-License-Identifier: MIT
// The worker process: runs one program of a stranger for the party that started it (process.hpp), and has nothing but
// the pipes to that party.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/worker/channel.hpp"

namespace retrace::solver {

/// What a worker may take.
struct WorkerLimits {
    std::uint64_t memory = UINT64_MAX;  ///< Bytes that it allocates.
    unsigned threads = 0;               ///< Of the kernels; 0: as many as the machine has.
    bool sandbox = true;                ///< Off only where there is none, or for a device, whose driver opens files.
};

/// As words of a command line, and back.
std::vector<std::string> words_of(const WorkerLimits& limits);
std::optional<WorkerLimits> parse_worker_limits(const std::vector<std::string>& words);

/// Makes the runner of the program; what it throws goes to the party in words. Tests put their own in between.
using WorkerRunner = std::function<std::unique_ptr<StepRunner>(DeviceChoice, const kernels::Program&, kernels::Inputs,
                                                               kernels::ThreadPool&)>;
WorkerRunner honest_worker_runner();

/// Answers requests until the other side is gone. That a program cannot be run, or that memory is not there, is the
/// last answer.
void serve(Channel& channel, kernels::ThreadPool& pool, const WorkerRunner& make_runner);

/// The main function of a worker: limits itself, gives up what it does not need, and serves on its standard input and
/// output until they are closed, which ends it in whatever it does. The exit status.
int run_worker(const WorkerLimits& limits, const WorkerRunner& make_runner = honest_worker_runner());

}  // namespace retrace::solver
