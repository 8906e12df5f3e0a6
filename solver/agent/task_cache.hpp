// SPDX-License-Identifier: MIT
// Caches what a party needs to compute a task: programs, data sets and runners. Solvers and verifiers share this code.
// Used by the worker only, one call at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "solver/agent/answer_cache.hpp"
#include "solver/artifacts/artifact_source.hpp"
#include "solver/artifacts/private_data.hpp"
#include "solver/chain_view.hpp"
#include "solver/rounds/plan_runner.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

/// Makes the runner of a task's training program; returns null if nothing here can run it.
using RunnerFactory = std::function<std::unique_ptr<StepRunner>(const TaskTerms&, const kernels::Program&,
                                                                kernels::Inputs, kernels::ThreadPool&)>;
RunnerFactory honest_runners();
/// Runners on the chosen device. `report` is called with the reason when a program cannot run there; that happens only
/// with DeviceChoice::cuda, and then the task cannot be computed.
RunnerFactory honest_runners(DeviceChoice choice, std::function<void(const std::string&)> report);

/// A task ready to be computed.
struct TaskMaterial {
    TaskTerms terms;
    std::unique_ptr<kernels::CommittedProgram> program;
    std::unique_ptr<kernels::CommittedProgram> init;  ///< Null when the initial state is given by its root.
    std::vector<kernels::Tensor> data;
    std::unique_ptr<StepRunner> runner;       ///< Runs `program`.
    std::unique_ptr<StepRunner> init_runner;  ///< Runs `init`; null without one.

    std::uint64_t bytes = 0;  ///< Memory that computing the task takes: memory_of plus planned_bytes of the runners.

    kernels::Inputs inputs() const;
};

/// A group task ready to be computed.
struct GroupMaterial {
    TaskTerms terms;
    std::shared_ptr<const CommittedPlan> plan;
    std::vector<kernels::Tensor> data;   ///< Of the inner steps.
    std::unique_ptr<PlanRunner> runner;  ///< Runs `plan`.

    std::uint64_t bytes = 0;  ///< Memory that computing the task takes.
};

/// Bytes of memory that a party holds for a plan: the tensors and buffers of the programs of all phases.
std::uint64_t memory_of(const CommittedPlan& plan, kernels::ThreadPool& pool);
/// Bytes of memory that a party holds for a task beside those of its steps: data sets, constants, two states (one is
/// committed while the next is computed), the checkpoint store's index of each state tensor, and 2 KiB for each op.
std::uint64_t memory_of(const kernels::Program& program);
/// The same without the states, for a party whose states lie on disk.
std::uint64_t memory_beside_states(const kernels::Program& program);

class TaskCache {
public:
    /// `source` and `pool` must outlive the cache. `memory` is the memory quota of all tasks together, in bytes: a
    /// program file of a few kilobytes can ask for more memory than any machine has.
    TaskCache(ArtifactSource& source, kernels::ThreadPool& pool, RunnerFactory runners = honest_runners(),
              std::uint64_t memory = UINT64_MAX, RunnerFactory initialisers = honest_runners());

    /// Counts no states of tasks of one solver, because large memory of this process lies on disk.
    void set_states_on_disk() { states_on_disk_ = true; }
    /// Where data sets of private groups are; outlives the cache. Without it such a group's inner steps do not run here.
    void set_private(const PrivateData& data) { private_ = &data; }
    /// Fetches the plan of a private group and compares data sets of this party with it, by PrivateData::fits. The error's
    /// kind is none if the plan is here and the data differ.
    Result<Unit, Unavailable> check_private(const TaskTerms& terms, const std::vector<Hash32>& roots);
    /// Called repeatedly while the memory quota does not suffice; returns whether it freed something.
    using FreeMemory = std::function<bool()>;
    /// Returns the task's material; fetches and checks what is not cached. The error says what cannot be fetched, is
    /// inconsistent or exceeds the memory quota; a solver then declines the task before it accepts.
    Result<TaskMaterial*, Unavailable> material(const TaskTerms& terms, const FreeMemory& free_memory = {});
    /// The plan of a group task, which answers and openings need without its data. Fetches it, if it is not cached.
    Result<std::shared_ptr<const CommittedPlan>, Unavailable> plan(const TaskTerms& terms);
    /// The same for a group task, of which it counts the programs of all phases: a party that takes part runs each of them
    /// in a worker process.
    Result<GroupMaterial*, Unavailable> group(const TaskTerms& terms, const FreeMemory& free_memory = {});
    /// Returns the header that opens the program's root. Fetches only the program, if it is not cached.
    Result<kernels::ProgramHeader, Unavailable> header(const TaskTerms& terms);
    /// Fetches a state of a member, whose header has the step `header_step`, and checks it against `root`.
    Result<kernels::State, Unavailable> fetch(const GroupMaterial& material, const Hash32& root,
                                              std::uint64_t header_step);
    /// fetch_message and fetch_messages, for a task of a group.
    FetchedMessage fetch_message(const CommittedPlan& plan, const MessageRequest& request);
    void fetch_messages(const GroupMaterial& material, const std::vector<MessageRequest>& requests,
                        const std::function<bool(std::size_t place, FetchedMessage)>& done);
    /// Fetches shared tensors of a member's state.
    Result<std::vector<kernels::Tensor>, Unavailable> fetch_shared(const GroupMaterial& material,
                                                                   const std::vector<Hash32>& roots);
    /// Returns state 0, computed by the initialiser or fetched. A seeded state is recomputed by every call; `stop`
    /// is polled between ops, and Preempted is thrown when it requests a stop.
    Result<kernels::State, Unavailable> initial_state(TaskMaterial& material, const kernels::StopToken& stop = {});
    /// Fetches state `index` from another party and checks it against `root`.
    Result<kernels::State, Unavailable> fetch(TaskMaterial& material, const Hash32& root, std::uint64_t index);
    /// The cache of answers to reports. It uses spare memory and is cleared first when a task needs that memory.
    AnswerCache& answers() noexcept { return answers_; }
    /// Shrinks the answer cache to the memory that tasks and the user of on_less_to_spare leave. Called after an order
    /// that made answers.
    void bound_answers();
    /// Bytes of the quota that neither tasks nor answers use. Other caches may use them until a task needs them.
    std::uint64_t spare() const;
    /// `report` is called with the spare memory that will remain before a task takes its part; `kept` returns how much
    /// of the spare memory is used. Worker thread.
    void on_less_to_spare(std::function<void(std::uint64_t spare)> report, std::function<std::uint64_t()> kept = {}) {
        less_to_spare_ = std::move(report);
        kept_ = std::move(kept);
    }
    std::vector<std::uint64_t> tasks() const;
    /// Forgets one task, which must not be in use (as below).
    void forget(std::uint64_t task) {
        materials_.erase(task);
        std::erase_if(groups_, [&](const auto& item) { return item.first.first == task; });
        plans_.erase(task);
    }
    /// Forgets all tasks but these. Must not be called while a work order runs or another task is still in use.
    void keep_only(const std::map<std::uint64_t, TaskTerms>& tasks) {
        std::erase_if(materials_, [&](const auto& item) { return tasks.count(item.first) == 0; });
        std::erase_if(groups_, [&](const auto& item) { return tasks.count(item.first.first) == 0; });
        std::erase_if(plans_, [&](const auto& item) { return tasks.count(item.first) == 0; });
    }

    kernels::ThreadPool& pool() noexcept { return pool_; }

private:
    /// Checks that a task of `bytes` fits the memory quota beside the others; frees memory where it does not.
    Status<> check_memory(std::uint64_t bytes, const FreeMemory& free_memory);
    std::uint64_t held() const;
    /// The data sets of the inner steps. None for a party that has no data of the member: it replays segments without.
    Result<std::vector<kernels::Tensor>, Unavailable> data_of_group(const TaskTerms& terms,
                                                                    const kernels::Program& inner);
    const PrivateData& own_data() const;

    ArtifactSource& source_;
    kernels::ThreadPool& pool_;
    RunnerFactory runners_, initialisers_;
    std::uint64_t memory_;
    std::function<void(std::uint64_t spare)> less_to_spare_;
    std::function<std::uint64_t()> kept_;
    AnswerCache answers_;
    std::map<Hash32, kernels::ProgramHeader> headers_;  // Headers of programs that only header() fetched.
    std::map<std::uint64_t, std::unique_ptr<TaskMaterial>> materials_;
    std::map<std::pair<std::uint64_t, std::vector<Hash32>>, std::unique_ptr<GroupMaterial>>
        groups_;  // By task and data.
    std::map<std::uint64_t, std::shared_ptr<const CommittedPlan>> plans_;
    const PrivateData* private_ = nullptr;
    bool states_on_disk_ = false;
};

}  // namespace retrace::solver
