// SPDX-License-Identifier: MIT
// Runs a program in a worker process: the party's own process, which signs, executes no stranger's program.
#pragma once

#include "solver/agent/task_cache.hpp"
#include "solver/worker/connection.hpp"
#include "solver/worker/record.hpp"

namespace retrace::solver {

/// A worker that ends is started again and continues from the last state that came here. After
/// WorkerRecord::kDeathsMost at one piece of work that is given up: what is thrown names the task and how the worker
/// ended, and the record puts the task off. Not thread-safe, as every runner.
class RemoteRunner final : public StepRunner {
public:
    /// Starts a worker and sets the program up in it; throws if that cannot be done. `program` and the data sets
    /// outlive the runner.
    RemoteRunner(std::uint64_t task, std::string label, const kernels::Program& program, kernels::Inputs inputs,
                 WorkerOptions options, std::shared_ptr<WorkerRecord> record);
    ~RemoteRunner() override;

    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state, const kernels::GoOn& go_on) override;
    std::vector<Hash32> trace(const kernels::State& state) override;
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override;
    void advance_partial(const kernels::OpCall& call, std::uint32_t op, std::uint64_t tile, std::uint64_t first,
                         std::uint64_t end, kernels::PartialTile& carried) override;
    /// The state stays with the worker and comes here when it is asked for, with a checkpoint, and every
    /// WorkerOptions::save_every. A step that is left leaves the last of them in `state`.
    std::unique_ptr<Training> train(const kernels::CommittedProgram& program, kernels::State& state,
                                    kernels::ThreadPool& pool) override;
    /// What the worker has beside the party: program, data sets and two states, and its plan.
    std::uint64_t planned_bytes() const override { return planned_bytes_; }
    bool on_device() const override { return on_device_; }

private:
    friend class RemoteTraining;
    /// A living worker with the program set up. A new one has another number.
    Connection& connection();
    /// What `work` makes of a connection, with another one where the worker died; `deaths` are those so far at this
    /// piece of work, which `where` names.
    template <class Work>
    auto insist(unsigned& deaths, const std::string& where, Work work);
    /// As above, for work that needs nothing of before.
    template <class Work>
    auto complete(const std::string& where, Work work);
    void drop() { connection_.reset(); }
    /// A device that failed is not used again.
    void leave_device();

    const std::uint64_t task_;
    const std::string label_;
    const kernels::Program& program_;
    const kernels::Inputs inputs_;
    WorkerOptions options_;
    const std::shared_ptr<WorkerRecord> record_;
    std::unique_ptr<Connection> connection_;
    std::uint64_t number_ = 0;  // Of the connection.
    std::uint64_t planned_bytes_ = 0;
    bool on_device_ = false;
};

/// For a task cache. `purpose` follows the task's number where processes are listed.
RunnerFactory remote_runners(WorkerOptions options, std::shared_ptr<WorkerRecord> record, std::string purpose = "");

}  // namespace retrace::solver
