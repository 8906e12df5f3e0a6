// SPDX-License-Identifier: MIT
// The solver's agent: bids, accepts, trains, commits, opens and answers. It is a state machine without clock, socket or
// thread: views and results go in, moves and work orders come out. Its durable state is on the chain, in its secret and
// in its checkpoint store, so a new agent continues after kill -9 where the old one stopped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "solver/agent/capability_agent.hpp"
#include "solver/agent/retry.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/agent/work.hpp"
#include "solver/agent/worker_slot.hpp"
#include "solver/chain_view.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::solver {

/// Result of preparing a run: the task's data, and the run's first state unless it is seeded, were fetched and checked,
/// or `problem` says why not.
struct Prepared {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::optional<std::string> problem;
    std::optional<std::uint32_t> missing;  ///< Tensor of the first state that no peer serves.
    bool may_pass = false;                 ///< The problem may be transient: a peer restarts, a disk is full.
    bool put_off = false;                  ///< Preempted by more urgent work while peers were slow; not a problem yet.
};
/// Result of training: state `index` is in the store, or `problem` says why not.
struct Reached {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::optional<std::string> problem;
    bool put_off = false;  ///< Preempted by more urgent work; training resumes later at the step that it had reached.
};
struct Answered {
    std::uint64_t report = 0;
    Bytes answer;  ///< Empty if it could not be made.
    std::string problem;
    bool put_off = false;               ///< As in Prepared.
    std::vector<Answered> others = {};  ///< Answers to reports about the same object, made by the same work order.
};
using SolverResult = std::variant<Prepared, Reached, Answered>;
using SolverWork = WorkOrder<SolverResult>;

struct SolverConfig {
    Hash32 secret;                     ///< Salts are derived from it; it belongs to the account's key.
    std::uint64_t resend_blocks = 10;  ///< A move that the chain does not show is sent again after this many blocks.
    std::size_t keep_checkpoints = 2;  ///< Newest checkpoints kept beside those that may still be asked for.
    bool pay_for_retention = false;    ///< Offers a fee for keeping states, so that work is paid between audits.
    /// Blocks for which a run's newest state is served after the run ended; then all of the run is deleted.
    std::uint64_t retention_blocks = 5'000;
    /// Longest time that a training step may continue while more urgent work waits. Then it is aborted and made again.
    std::chrono::milliseconds step_timeout{10'000};
    /// Called on the worker thread after each step.
    std::function<void(std::uint64_t task, const Progress&)> on_progress;
    Benchmarker* bench = nullptr;  ///< Must outlive the agent. Null: challenges are not answered.
    std::uint64_t bench_rounds_max = 1 << 20;
};

/// Work of a run that failed and is retried. The work of an accepted run is retried as long as the run lasts, because
/// giving up would cost the stake.
struct Waiting {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::string what;  ///< "prepare", "train", "answer report 7".
    std::string why;
    std::uint64_t attempts = 0;
    std::uint64_t next = 0;      ///< Height of the next attempt.
    std::uint64_t deadline = 0;  ///< Deadline of the move that needs this work; 0: none yet.
};

class SolverAgent {
public:
    /// `task_cache` and `store` must outlive the agent. The agent does not use `task_cache` while a work order runs.
    SolverAgent(SolverConfig config, TaskCache& task_cache, CheckpointStore& store);

    struct Output {
        std::vector<SolverMove> moves;
        std::optional<SolverWork> work;  ///< Always none while an order is running.
        /// A benchmark order. It uses neither task cache nor store and must start at once, concurrently with `work`.
        std::optional<CapabilityWork> benchmark;
    };
    Output on_view(const SolverView& view);
    /// The party's worker slot, shared with the agent that plays its disputes. One order of both runs at a time; duties
    /// run in the ledger's order, and training takes the remaining time.
    WorkerSlot& slot() noexcept { return slot_; }
    /// Asks the running order to stop: training stops after its step, or between two ops of a long step.
    void give_way() {
        if (busy_) slot_.preemption().request();
    }
    /// Takes the result of a work order. The moves that follow from it are returned by the next on_view.
    void on_done(const SolverResult& result);
    void on_done(const CapabilityResult& result) { capability_.on_done(result); }

    /// Returns a state of a run for a dispute; recomputes it if its tensors are gone. Worker thread.
    Result<kernels::State> state_of(const TaskTerms& terms, std::uint32_t run, std::uint64_t first_state,
                                    const Hash32& first_root, std::uint64_t index);

    /// Returns and clears the problems that an operator should see: data that cannot be fetched, a failing disk.
    std::vector<std::string> take_problems();
    /// Failed work that is retried, as of the last view.
    const std::vector<Waiting>& waiting() const noexcept { return waiting_; }

private:
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;

    void bid(const AuctionView& auction, std::uint64_t height, Output& out);
    void accept(const RunView& run, const Prepared& prepared, std::uint64_t height, Output& out);
    /// Whether missing data may still arrive before the run must be accepted or declined.
    bool hopes(const RunView& run, const Prepared& prepared) const;
    /// Deletes states and cached results that no run of the view needs.
    void clean_up(const SolverView& view);
    void play(const RunView& run, std::uint64_t height, Output& out);
    void open(const RunView& run, std::uint64_t height, Output& out);
    void answer(const RunView& run, std::uint64_t height, Output& out);
    bool waits(const ReportView& report) const;
    /// Height by which the run's next state is needed; UINT64_MAX if the state is already there.
    std::uint64_t deadline_of(const RunView& run) const;
    bool is_more_urgent(const SolverView& view);
    /// A report that waits for an answer, with its run and its place in the order of work.
    struct Asked {
        std::uint64_t place = 0;
        const RunView* run = nullptr;
        const ReportView* report = nullptr;
    };
    /// The waiting report with the earliest place.
    std::optional<Asked> first_report(const SolverView& view) const;
    void list_waiting(const SolverView& view);
    /// Adds a problem for the operator, with the height of the next attempt.
    void report_retry(std::uint64_t task, const Retry& retry, std::uint64_t deadline);
    std::optional<SolverWork> next_work(const SolverView& view);
    SolverWork answer_order(const RunView& run, const ReportView& report);
    void on_answered(const Answered& answered);
    std::optional<SolverWork> work_for(const RunView& run);
    /// The opening of a state, if its root is in the store.
    std::optional<Opening> opening_of(const RunView& run, std::uint64_t index);
    bool due(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t height);

    // Worker thread.
    Prepared prepare(const RunView& run);
    Reached reach(const RunView& run, std::uint64_t index);
    /// Trains up to state `index`. Returns false if it was preempted, which happens only with `may_wait`.
    Result<bool> make_state(TaskMaterial& material, std::uint32_t run, std::uint64_t first_state,
                            const Hash32& first_root, std::uint64_t index, bool may_wait);
    /// The state to train from towards checkpoint `index`: of a preempted training, or the newest intact checkpoint.
    Result<std::optional<kernels::State>> nearest(const RunKey& key, std::uint64_t index, std::uint64_t last_step,
                                                  bool may_wait);
    Answered make_answer(const RunView& run, const ReportView& report);
    Result<TileAnswer> state_tile(TaskMaterial& material, const RunView& run, std::uint64_t index,
                                  const ReportView& report);

    SolverConfig config_;
    TaskCache& task_cache_;
    CheckpointStore& store_;
    CapabilityAgent capability_;
    Outbox outbox_;
    WorkerSlot slot_;
    bool busy_ = false;  // An order of this agent is running.
    std::map<RunKey, kernels::State> put_off_;               // States of preempted trainings; used by a running order.
    std::map<RunKey, Prepared> prepared_;
    std::map<RunKey, Retry> retries_;                        // Runs whose last order failed.
    std::map<RunKey, std::uint64_t> deadlines_;              // As of the last view.
    std::map<RunKey, std::uint64_t> known_;                  // The roots of all states below this index are known.
    RunKey running_;                                         // The run whose preparation or training is running.
    std::uint64_t running_deadline_ = 0;                     // Deadline of that run; 0: no such order is running.
    std::map<RunKey, std::uint64_t> over_;                   // Finished run → height at which it was first seen over.
    std::map<std::uint64_t, Bytes> answers_;                 // By report.
    std::map<std::uint64_t, Retry> unanswered_;              // Report → why there is no answer yet.
    std::vector<Waiting> waiting_;
    std::vector<std::string> problems_;
    std::uint64_t height_ = 0;
};

}  // namespace retrace::solver
