// SPDX-License-Identifier: MIT
// Runs a program on the device: state and data sets stay there, all memory is allocated once, and a step is one
// recorded graph.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cuda/device_program.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/exec/executor.hpp"

namespace retrace::kernels::cuda {

/// Step number of a state that was not completely copied to the host; no step has it, so no caller continues from it.
inline constexpr std::uint64_t kTornStep = UINT64_MAX;

class DeviceExecutor {
public:
    /// `program` must have passed `check` and must outlive the executor. Errors: no device; too little memory (names
    /// the bytes). `plan` is for tests: a plan for for_device(program) that check_row_runs accepts.
    static Result<std::unique_ptr<DeviceExecutor>> create(const Program& program,
                                                          std::optional<MemoryPlan> plan = std::nullopt);
    ~DeviceExecutor();

    const Device& device() const noexcept;
    /// Returns the bytes of all device memory of the program: state and its copy for commitments, constants, data sets,
    /// workspace, digests, slab and the plan's arena.
    std::uint64_t device_bytes() const noexcept;
    /// Returns the bytes of the plan's arena alone, for Executor::planned_bytes.
    std::uint64_t planned_bytes() const noexcept;

    /// Copies a state and the data sets to the device. dtypes and dims must match the records (asserted).
    Status<> load(const State& state, const Inputs& inputs);
    /// Runs one step of the loaded state and returns the program's metrics.
    Result<std::vector<Metric>> step();
    /// Like `step`, but does not wait for the end of the step.
    Status<> queue_step();
    /// Returns the device time of `steps` consecutive steps, for benchmarks.
    Result<double> seconds_of_steps(int steps);
    /// Copies the loaded state into `state`, whose tensors have its shapes. On an error, the state's step is kTornStep.
    Status<> store(State& state);
    /// Returns the roots of the state's tensors, hashed on the device.
    Result<std::vector<Hash32>> state_roots();
    /// Commits the current state concurrently with the following steps by a DeviceCommitter: only tiles that changed
    /// since the last such commitment are hashed. Only one commitment may be under way.
    Status<> begin_commitment();
    Result<std::vector<Hash32>> finish_commitment();
    /// Like `store`, for the state of the last `begin_commitment`.
    Status<> store_committed(State& state);

    /// Executor::trace and Executor::outputs from the loaded state, which does not change. The first call allocates
    /// the memory of a plan in which every op runs alone.
    Result<std::vector<Hash32>> trace();
    Result<std::vector<Tensor>> outputs(const std::vector<std::uint32_t>& ops);

private:
    struct Impl;
    explicit DeviceExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Returns the device as an external back end, for `Executor(program, pool, *make_backend(program))`. Every function
/// throws std::runtime_error when the device fails; the loaded state is then lost, and a state that was being stored
/// has kTornStep. Traces and outputs are for parity checks; an Executor computes those of disputes on the host.
Result<std::unique_ptr<ExternalBackend>> make_backend(const Program& program);

}  // namespace retrace::kernels::cuda
