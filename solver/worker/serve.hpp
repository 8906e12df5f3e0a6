// SPDX-License-Identifier: MIT
// The worker process: runs one stranger's program for the party that started it (process.hpp) and is connected only by
// the pipes to that party.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/offload/scratch_file.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/worker/channel.hpp"

namespace retrace::solver {

/// Resource limits of a worker.
struct WorkerLimits {
    std::uint64_t memory = UINT64_MAX;   ///< Bytes that it may allocate (RLIMIT_DATA).
    unsigned threads = 0;                ///< Threads of the kernels; 0: as many as the machine has.
    bool sandbox = true;                 ///< Off only if unsupported, or for a device, whose driver opens files.
    std::filesystem::path offload = {};  ///< Folder on a disk for programs that take more than `share`; empty: none.
    std::uint64_t share = 0;             ///< With `offload`: bytes that a program may take here and at the party.
    std::uint64_t disk = 0;              ///< With `offload`: bytes of each of the files there.
};

/// The limits as command line arguments, and back.
std::vector<std::string> words_of(const WorkerLimits& limits);
std::optional<WorkerLimits> parse_worker_limits(const std::vector<std::string>& words);

/// Makes the runner of the program; the message of an exception is sent to the party. Tests pass their own.
using WorkerRunner = std::function<std::unique_ptr<StepRunner>(DeviceChoice, const kernels::Program&, kernels::Inputs,
                                                               kernels::ThreadPool&)>;
WorkerRunner honest_worker_runner();
/// Runs a program whose state and activations would take more than `share` with these on disk, if it fits so, and every
/// other one by `otherwise`.
WorkerRunner offloading_worker_runner(kernels::ScratchFolder files, std::uint64_t share, WorkerRunner otherwise);

/// Answers requests until the other side closes the channel. If the program cannot run or memory runs out, it sends
/// Failed and returns.
void serve(Channel& channel, kernels::ThreadPool& pool, const WorkerRunner& make_runner);

/// The main function of a worker: sets its limits, enters the sandbox and serves on its standard input and output. When
/// the input is closed, the process ends at once, also in the middle of an op. Returns the exit status.
int run_worker(const WorkerLimits& limits, const WorkerRunner& make_runner = honest_worker_runner());

}  // namespace retrace::solver
