// SPDX-License-Identifier: MIT
// The solver: bids, accepts, trains, commits, opens, answers. A state machine without clock, socket or
// thread: views and results go in, moves and work orders come out. All that it must remember is on the chain,
// in its secret and in its checkpoint store, so a new agent after kill -9 goes on where the old one was.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "solver/agent/retry.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/agent/work.hpp"
#include "solver/agent/worker_slot.hpp"
#include "solver/capability/bench.hpp"
#include "solver/chain_view.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::solver {

/// Task data are here and fit, and so is the state that the run starts from if it is not seeded; or not.
struct Prepared {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::optional<std::string> problem;
    std::optional<std::uint32_t> missing;  ///< Tensor of the first state that nobody serves.
    bool may_pass = false;                 ///< An upload goes on, a peer restarts, a disk is emptied.
    bool put_off = false;                  ///< Something more urgent waited while peers were slow: no problem yet.
};
/// State `index` is in the store; or why not.
struct Reached {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::optional<std::string> problem;
    bool put_off = false;  ///< Something more urgent waited: training goes on later from the step that it had reached.
};
struct Answered {
    std::uint64_t report = 0;
    Bytes answer;  ///< Empty: could not be made.
    std::string problem;
    bool put_off = false;               ///< As of Prepared.
    std::vector<Answered> others = {};  ///< About the same state or data set, made in the same order.
};
/// A benchmark run ended.
struct Measured {
    std::uint64_t challenge = 0;
    CapabilityClaim claim;
};
struct Proved {
    std::uint64_t challenge = 0;
    Bytes proof;
};
using SolverResult = std::variant<Prepared, Reached, Answered, Measured, Proved>;
using SolverWork = WorkOrder<SolverResult>;

struct SolverConfig {
    Hash32 secret;                     ///< Salts come from it; belongs to the key of the account.
    std::uint64_t resend_blocks = 10;  ///< Before a move that the chain does not show is repeated.
    std::size_t keep_checkpoints = 2;  ///< Beside those that may still be asked for.
    bool pay_for_retention = false;    ///< Offers a fee for keeping states, to be paid between audits.
    /// After a run ends its newest state is served for so long; then everything of it is deleted.
    std::uint64_t retention_blocks = 5'000;
    /// Something urgent lets a step of training go on for so long; then it is left, and made again later.
    std::chrono::milliseconds step_timeout{10'000};
    /// Called on the worker thread after each step.
    std::function<void(std::uint64_t task, const Progress&)> on_progress;
    Benchmarker* bench = nullptr;  ///< Outlives the agent. Null: challenges are not answered.
    std::uint64_t bench_rounds_max = 1 << 20;
};

/// Work of a run that could not be done and is tried again. What was accepted is tried as long as the run lasts: giving
/// it up would cost the stake.
struct Waiting {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::string what;  ///< "prepare", "train", "answer report 7".
    std::string why;
    std::uint64_t attempts = 0;
    std::uint64_t next = 0;      ///< Height of the next attempt.
    std::uint64_t deadline = 0;  ///< Of what waits for it; 0: none yet.
};

class SolverAgent {
public:
    /// `task_cache` and `store` outlive the agent; while a work order runs, the agent itself does not use
    /// `task_cache`.
    SolverAgent(SolverConfig config, TaskCache& task_cache, CheckpointStore& store);

    struct Output {
        std::vector<SolverMove> moves;
        std::optional<SolverWork> work;  ///< None while an order is out.
        /// A benchmark: uses neither task cache nor store, and is to start at once, beside `work` if there is one.
        std::optional<SolverWork> benchmark;
    };
    Output on_view(const SolverView& view);
    /// The worker, for whoever plays this party's disputes: one order of both is out at a time, what the ledger gave
    /// first goes first, and training takes what is left.
    WorkerSlot& slot() noexcept { return slot_; }
    /// Training that is under way is put off after its step, or between two ops of a step that takes long.
    void give_way() {
        if (busy_) slot_.preemption().request();
    }
    /// What the work order came to; the next view brings what follows from it.
    void on_done(const SolverResult& result);

    /// A state of a run, made again if the tensors are gone: for disputes. Worker thread.
    Result<kernels::State> state_of(const TaskTerms& terms, std::uint32_t run, std::uint64_t first_state,
                                    const Hash32& first_root, std::uint64_t index);

    /// Problems that a person should see: a task declined, data not to be had, a disk that fails. Taken once.
    std::vector<std::string> take_problems();
    /// As of the last view.
    const std::vector<Waiting>& waiting() const noexcept { return waiting_; }

private:
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;

    void bid(const AuctionView& auction, std::uint64_t height, Output& out);
    void accept(const RunView& run, const Prepared& prepared, std::uint64_t height, Output& out);
    /// What is missing may still come before the run must be accepted or declined.
    bool hopes(const RunView& run, const Prepared& prepared) const;
    /// Deletes what no run of the view needs.
    void clean_up(const SolverView& view);
    void play(const RunView& run, std::uint64_t height, Output& out);
    void open(const RunView& run, std::uint64_t height, Output& out);
    void answer(const RunView& run, std::uint64_t height, Output& out);
    void measure(const SolverView& view, Output& out);
    void answer_challenge(const ChallengeView& challenge, Output& out);
    void prove_challenge(const ChallengeView& challenge, Output& out);
    bool waits(const ReportView& report) const;
    /// What the run owes next has to be there by then; later than anything where it is there already.
    std::uint64_t deadline_of(const RunView& run) const;
    bool is_more_urgent(const SolverView& view);
    /// Of the reports that wait for an answer the one with the earliest place.
    struct Asked {
        std::uint64_t place = 0;
        const RunView* run = nullptr;
        const ReportView* report = nullptr;
    };
    std::optional<Asked> first_report(const SolverView& view) const;
    void list_waiting(const SolverView& view);
    /// A problem for a person, and when it is tried again.
    void report_retry(std::uint64_t task, const Retry& retry, std::uint64_t deadline);
    std::optional<SolverWork> next_work(const SolverView& view);
    SolverWork answer_order(const RunView& run, const ReportView& report);
    void on_answered(const Answered& answered);
    std::optional<SolverWork> work_for(const RunView& run);
    /// The opening of a state if its root is known here.
    std::optional<Opening> opening_of(const RunView& run, std::uint64_t index);
    bool due(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t height);

    // Worker thread.
    Prepared prepare(const RunView& run);
    Reached reach(const RunView& run, std::uint64_t index);
    /// False: put off. Only what `may_wait` is.
    Result<bool> make_state(TaskMaterial& material, std::uint32_t run, std::uint64_t first_state,
                            const Hash32& first_root, std::uint64_t index, bool may_wait);
    /// The state to train from, to checkpoint `index`: what was put off, or the newest checkpoint that is whole.
    Result<std::optional<kernels::State>> nearest(const RunKey& key, std::uint64_t index, std::uint64_t last_step,
                                                  bool may_wait);
    Answered make_answer(const RunView& run, const ReportView& report);
    Result<TileAnswer> state_tile(TaskMaterial& material, const RunView& run, std::uint64_t index,
                                  const ReportView& report);

    SolverConfig config_;
    TaskCache& task_cache_;
    CheckpointStore& store_;
    Outbox outbox_;
    WorkerSlot slot_;
    bool busy_ = false;  // An order of this agent is out.
    std::map<RunKey, kernels::State> put_off_;               // The training order's, while one is out.
    std::map<RunKey, Prepared> prepared_;
    std::map<RunKey, Retry> retries_;                        // Of what failed last.
    std::map<RunKey, std::uint64_t> deadlines_;              // As of the last view.
    std::map<RunKey, std::uint64_t> known_;                  // Below it the roots of all states are known.
    RunKey running_;                                         // Whose training is out,
    std::uint64_t running_deadline_ = 0;                     // and when it is due; 0: none is out.
    std::map<RunKey, std::uint64_t> over_;                   // Run that is over → since when.
    std::map<std::uint64_t, Bytes> answers_;                 // By report.
    std::map<std::uint64_t, Retry> unanswered_;              // Report → why there is no answer yet.
    std::vector<Waiting> waiting_;
    std::vector<std::string> problems_;
    std::uint64_t height_ = 0;
    bool benching_ = false;
    std::uint64_t benched_ = 0;                       // Challenge of the newest benchmark order.
    std::shared_ptr<std::atomic<bool>> stop_;         // Ends the run that is under way.
    std::optional<Measured> claim_;
    std::optional<Proved> proof_;
};

}  // namespace retrace::solver
