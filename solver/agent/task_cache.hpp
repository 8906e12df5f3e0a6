// SPDX-License-Identifier: MIT
// What a party needs to compute a task: programs, data, a runner. Solvers and verifiers use the same. Belongs
// to the worker: one call at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "solver/agent/answer_cache.hpp"
#include "solver/artifacts/artifact_source.hpp"
#include "solver/attacks/frauds.hpp"
#include "solver/chain_view.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::solver {

/// Makes the runner of a task's training program; null: nothing here can run it.
using RunnerFactory = std::function<std::unique_ptr<StepRunner>(const TaskTerms&, const kernels::Program&,
                                                                kernels::Inputs, kernels::ThreadPool&)>;
RunnerFactory honest_runners();
/// On the device of this choice. `report` hears why a program does not run there: with DeviceChoice::cuda the task
/// cannot be computed then.
RunnerFactory honest_runners(DeviceChoice choice, std::function<void(const std::string&)> report);
/// Cheats in every task, in its last segment if none is named (developer chains only; node checks).
RunnerFactory fraud_runners(Fraud fraud, std::optional<std::uint64_t> segment = std::nullopt);

/// A task ready to be computed.
struct TaskMaterial {
    TaskTerms terms;
    std::unique_ptr<kernels::CommittedProgram> program;
    std::unique_ptr<kernels::CommittedProgram> init;  ///< Null when the initial state is named.
    std::vector<kernels::Tensor> data;
    std::unique_ptr<StepRunner> runner;       ///< Of `program`.
    std::unique_ptr<StepRunner> init_runner;  ///< Of `init`, or null.

    std::uint64_t bytes = 0;  ///< That computing it takes, as memory_of and planned_bytes say.

    kernels::Inputs inputs() const;
};

/// Memory that a party holds of a task beside its steps: the data sets, the constants, two states, since one is
/// committed while the next is made, what its store of checkpoints knows of each state tensor, and 2 KiB for each op.
std::uint64_t memory_of(const kernels::Program& program);

class TaskCache {
public:
    /// `source` and `pool` outlive the cache. All tasks together may take `memory` bytes: a file of a few kilobytes
    /// can ask for more than any machine has.
    TaskCache(ArtifactSource& source, kernels::ThreadPool& pool, RunnerFactory runners = honest_runners(),
             std::uint64_t memory = UINT64_MAX, RunnerFactory initialisers = honest_runners());

    /// Asked as long as the memory that is allowed does not suffice: whether it let something go.
    using MakeRoom = std::function<bool()>;
    /// Fetches and checks what is not here yet. An error says what cannot be had, does not fit together or is too large
    /// for this machine; then a solver leaves the task before it accepts.
    Result<TaskMaterial*, Unavailable> material(const TaskTerms& terms, const MakeRoom& make_room = {});
    /// What opens the program's root. The program alone is fetched, if it is not here.
    Result<kernels::ProgramHeader, Unavailable> header(const TaskTerms& terms);
    /// State 0: by the initialiser, or fetched. For a seeded one every call computes it again; where `go_on` is given,
    /// it is asked between ops, and PutOff is thrown if it says no.
    Result<kernels::State, Unavailable> initial_state(TaskMaterial& material, const kernels::GoOn& go_on = {});
    /// A state that somebody else serves.
    Result<kernels::State, Unavailable> fetch(TaskMaterial& material, const Hash32& root,
                                              std::uint64_t index);
    /// What answers to reports are made of. It is kept in memory that is to spare, and goes first when that is needed.
    AnswerCache& answers() noexcept { return answers_; }
    /// After an order that made answers: what does not fit beside what others keep is dropped.
    void bound_answers();
    /// Memory that neither tasks nor answers take, and what may be kept in it until one does.
    std::uint64_t spare() const;
    /// `report` hears how little there will be to spare before a task takes its part; `kept`: how much of it is taken.
    /// Worker thread.
    void on_less_to_spare(std::function<void(std::uint64_t spare)> report, std::function<std::uint64_t()> kept = {}) {
        less_to_spare_ = std::move(report);
        kept_ = std::move(kept);
    }
    std::vector<std::uint64_t> tasks() const;
    /// Nobody may use the task meanwhile, as below.
    void forget(std::uint64_t task) { materials_.erase(task); }
    /// Forgets all tasks but these. Not while a work order runs, nor while anybody still plays one of the others.
    void keep_only(const std::map<std::uint64_t, TaskTerms>& tasks) {
        std::erase_if(materials_, [&](const auto& item) { return tasks.count(item.first) == 0; });
    }

    kernels::ThreadPool& pool() noexcept { return pool_; }

private:
    /// Memory for the task beside the others; room is made where it does not suffice.
    Status<> check_memory(const TaskMaterial& material, const MakeRoom& make_room);
    std::uint64_t held() const;

    ArtifactSource& source_;
    kernels::ThreadPool& pool_;
    RunnerFactory runners_, initialisers_;
    std::uint64_t memory_;
    std::function<void(std::uint64_t spare)> less_to_spare_;
    std::function<std::uint64_t()> kept_;
    AnswerCache answers_;
    std::map<Hash32, kernels::ProgramHeader> headers_;  // Of programs that were fetched for answers alone.
    std::map<std::uint64_t, std::unique_ptr<TaskMaterial>> materials_;
};

/// Whether `init` makes the states of `program`: same shapes, every one written, no state and no data set
/// read.
Status<> check_initialiser(const kernels::Program& init, const kernels::Program& program);

}  // namespace retrace::solver
