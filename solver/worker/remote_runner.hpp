// SPDX-License-Identifier: MIT
// Runs a program in a worker process, so that the party's own process, which signs, executes no stranger's program.
#pragma once

#include "solver/agent/task_cache.hpp"
#include "solver/worker/connection.hpp"
#include "solver/worker/record.hpp"

namespace retrace::solver {

/// Restarts a worker that ended; the new one continues from the last state that was copied to this process. After
/// WorkerRecord::kDeathsMost deaths at one piece of work it throws an error that names the task and how the worker
/// ended, and the record puts the task off. Not thread-safe, like every runner.
class RemoteRunner final : public StepRunner {
public:
    /// Starts a worker and sets the program up in it; throws if that fails. `program` and the data sets must outlive
    /// the runner.
    RemoteRunner(std::uint64_t task, std::string label, const kernels::Program& program, kernels::Inputs inputs,
                 WorkerOptions options, std::shared_ptr<WorkerRecord> record);
    ~RemoteRunner() override;

    void set_inputs(kernels::Inputs inputs) override;
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::StopToken& stop) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override;
    void advance_partial(const kernels::OpCall& call, std::uint32_t op, std::uint64_t tile, std::uint64_t first,
                         std::uint64_t end, kernels::PartialTile& carried) override;
    /// The state stays with the worker. It is copied here on request, with each checkpoint, and every
    /// WorkerOptions::save_every. After an aborted step `state` holds the last copy.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;
    /// Memory of the worker: its own copies of program, data sets and two states, and its plan; no state if they lie on disk.
    std::uint64_t planned_bytes() const override { return planned_bytes_; }
    bool on_device() const override { return on_device_; }
    std::uint64_t disk_bytes() const override { return disk_bytes_; }

private:
    friend class RemoteTraining;
    /// Returns a running worker with the program set up; starts one if needed, which increments `number_`.
    Connection& connection();
    /// Returns the result of `work` on a connection; retries it with a new worker if the worker dies. `deaths` counts
    /// the deaths at this piece of work, which `where` names.
    template <class Work>
    auto insist(unsigned& deaths, const std::string& where, Work work);
    /// The same for work that does not depend on earlier requests.
    template <class Work>
    auto complete(const std::string& where, Work work);
    void drop() { connection_.reset(); }
    /// Uses the CPU from now on, after a failure on a device.
    void leave_device();

    const std::uint64_t task_;
    const std::string label_;
    const kernels::Program& program_;
    kernels::Inputs inputs_;
    bool inputs_sent_ = true;  ///< Whether the present worker has `inputs_`.
    WorkerOptions options_;
    const std::shared_ptr<WorkerRecord> record_;
    std::unique_ptr<Connection> connection_;
    std::uint64_t number_ = 0;  // Number of the present connection.
    std::uint64_t planned_bytes_ = 0, disk_bytes_ = 0;
    bool on_device_ = false;
};

/// Runner factory for a task cache. `purpose` follows the task's number in lists of processes.
RunnerFactory remote_runners(WorkerOptions options, std::shared_ptr<WorkerRecord> record, std::string purpose = "");

}  // namespace retrace::solver
