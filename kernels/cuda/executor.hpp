// SPDX-License-Identifier: MIT
// A program on the device: state and data sets stay there, all memory is taken once, a step is one recorded
// graph.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cuda/device_program.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/exec/executor.hpp"

namespace retrace::kernels::cuda {

/// Step number of a state that did not come to the host as a whole: of no step, so that nobody goes on from it.
inline constexpr std::uint64_t kTornStep = UINT64_MAX;

class DeviceExecutor {
public:
    /// `program` passed `check` and outlives the executor. Errors: no device; too little memory (names the
    /// bytes). A `plan` is for tests: that of for_device(program), which check_row_bands found to be sound.
    static Result<std::unique_ptr<DeviceExecutor>> create(const Program& program,
                                                          std::optional<MemoryPlan> plan = std::nullopt);
    ~DeviceExecutor();

    const Device& device() const noexcept;
    /// All device memory of the program: state and the copy of it that is committed, constants, data sets, workspace,
    /// digests, slab and the plan's arena.
    std::uint64_t device_bytes() const noexcept;
    /// The plan's arena alone, as Executor::planned_bytes.
    std::uint64_t planned_bytes() const noexcept;

    /// Brings a state and the data sets to the device. dtypes and dims as recorded (asserted).
    Status<> load(const State& state, const Inputs& inputs);
    /// One step of the loaded state; returns the program's metrics.
    Result<std::vector<Metric>> step();
    /// As `step`, without waiting for it.
    Status<> queue_step();
    /// Device time of `steps` steps one after the other (benchmarks).
    Result<double> seconds_of_steps(int steps);
    /// The loaded state as it stands, into tensors of its shapes. On an error the state's step is kTornStep.
    Status<> store(State& state);
    /// Roots of the state's tensors, hashed on the device.
    Result<std::vector<Hash32>> state_roots();
    /// The same beside the steps that follow, of the state as it stands, by a DeviceCommitter: only tiles that changed
    /// since the last such commitment are hashed. One at a time.
    Status<> begin_commitment();
    Result<std::vector<Hash32>> finish_commitment();
    /// The state of the last `begin_commitment`, as `store`.
    Status<> store_committed(State& state);

    /// Executor::trace and Executor::outputs from the loaded state, which stays as it is. They take memory
    /// for outputs that share none, the first time.
    Result<std::vector<Hash32>> trace();
    Result<std::vector<Tensor>> outputs(const std::vector<std::uint32_t>& ops);

private:
    struct Impl;
    explicit DeviceExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The device behind the interface of every other back end: `Executor(program, pool,
/// *make_backend(program))`. Every function throws a std::runtime_error where the device fails; then what was loaded is
/// lost, and a state that was being stored has kTornStep. Traces and outputs are for parity checks: an Executor plays
/// disputes on the host.
Result<std::unique_ptr<ExternalBackend>> make_backend(const Program& program);

}  // namespace retrace::kernels::cuda
