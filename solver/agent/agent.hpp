// SPDX-License-Identifier: MIT
// The solver's agent: bids, accepts, trains, commits, opens and answers. It is a state machine without clock, socket or
// thread: views and results go in, moves and work orders come out. Its durable state is on the chain, in its secret and
// in its checkpoint store, so a new agent continues after kill -9 where the old one stopped.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "solver/agent/capability_agent.hpp"
#include "solver/agent/member.hpp"
#include "solver/agent/run_record.hpp"
#include "solver/agent/solver_work.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/agent/worker_slot.hpp"
#include "solver/chain_view.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::solver {

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
    /// Messages of the groups that it is a member of; must outlive the agent. Null: tasks of groups are declined.
    MessageStore* messages = nullptr;
    std::uint32_t member_steps = 0;   ///< Inner steps of a member in each round; 0: as many as fit.
    double pace = 0;                  ///< For measurements: inner steps a second at most; 0: as fast as it can.
    std::uint64_t commit_blocks = 2;  ///< Blocks that a member leaves to commit before a phase of a round ends.
    /// As PlanRunner::Copies::every: what a member loses when its order is stopped within a step.
    std::chrono::milliseconds copy_every{2'000};
    /// Whether so many bytes of messages fit on the disk; null: not asked.
    std::function<Status<>(std::uint64_t bytes)> room;
    /// Whether a member stays away from a round; null: from none.
    std::function<bool(std::uint64_t task, std::uint32_t round)> away;
    Benchmarker* bench = nullptr;  ///< Must outlive the agent. Null: challenges are not answered.
    std::uint64_t bench_rounds_max = 1 << 20;
};

/// Work of a run that failed and is retried. The work of an accepted run is retried as long as the run lasts, because
/// giving up would cost the stake.
struct FailedWork {
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
    /// Multiply-adds in the time that a byte takes from or to the disk on which states lie.
    void set_disk_byte_cost(std::uint64_t cost) { disk_byte_cost_ = cost; }

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
    void preempt() {
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
    const std::vector<FailedWork>& waiting() const noexcept { return waiting_; }
    /// Seats that it is ready to take, each as it was prepared.
    std::vector<SeatView> ready_seats() const;

private:
    struct RunningOrder {
        RunKey run;
        std::uint64_t deadline = 0;
    };
    /// A report that waits for an answer, with its run and its place in the order of work.
    struct Asked {
        std::uint64_t place = 0;
        const RunView* run = nullptr;
        const ReportView* report = nullptr;
    };

    // Records and results of orders (agent.cpp).
    RunRecord& record_of(const RunView& run) { return runs_[key_of(run)]; }
    void on_answered(const Answered& answered);
    void on_made_again(const Reached& reached, RunRecord& record);
    void note_member_views(const SolverView& view);
    /// Notes that the last order of a run failed, and adds a problem for the operator with the height of the next
    /// attempt.
    void retry_later(std::uint64_t task, RunRecord& record, const std::string& why);
    void list_waiting(const SolverView& view);
    /// Deletes states and records that no run of the view needs.
    void clean_up(const SolverView& view);

    // Moves (agent_moves.cpp).
    bool due(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t height);
    void bid(const AuctionView& auction, std::uint64_t height, Output& out);
    void play(const RunView& run, std::uint64_t height, Output& out);
    /// Accepts or declines a run that was prepared, or waits for missing data.
    void accept(const RunView& run, const RunRecord& record, std::uint64_t height, Output& out);
    /// Whether data that the preparation of a run missed may still arrive before the run must be accepted or declined.
    bool data_may_still_arrive(const RunView& run, const RunRecord& record) const;
    /// The opening of a state, if its root is in the store.
    std::optional<Opening> opening_of(const RunView& run, std::uint64_t index);
    void open(const RunView& run, std::uint64_t height, Output& out);
    void answer(const RunView& run, std::uint64_t height, Output& out);

    // A member of a group (agent_member.cpp).
    void update_clock(const RunView& run, std::uint64_t height);
    bool is_away(const RunView& run) const;
    void play_member(const RunView& run, std::uint64_t height, Output& out);
    void commit_round(const RunView& run, std::uint64_t height, Output& out);
    void state_holdings(const RunView& run, std::uint64_t height, Output& out);
    /// Opens the states that anything asks for, each once.
    void open_member(const RunView& run, std::uint64_t height, Output& out);
    /// A state that was committed to, is asked for and cannot be opened, because its roots are lost.
    std::optional<std::uint64_t> lost_state(const RunView& run) const;
    /// Whether the state was made for records that a rollback has changed since, so that it cannot be committed to.
    bool is_undone(const RunView& run, std::uint64_t index, std::uint64_t base) const;
    /// What is here of the segment that is next.
    Begun begun_of(const RunView& run) const;
    /// The next segment, if it is due and its state is not in the store.
    std::optional<SegmentOrder> missing_segment(const RunView& run) const;
    /// Whether the message of the open round is here, of those that the member lists.
    bool has_message(const RunView& run, const SentMessage& sent) const;
    /// Messages of the open round that are not here.
    std::vector<SentMessage> missing_messages(const RunView& run) const;
    std::optional<SolverWork> work_of_member(const RunView& run);
    /// Disk that the messages of its other groups may take.
    std::uint64_t promised_disk(const RunKey& but) const;
    MemberStores stores() const { return {store_, *config_.messages, config_.copy_every}; }
    // On the worker thread (agent_member_work.cpp). `promised`: as promised_disk.
    Prepared prepare_member(const RunView& run, std::uint64_t promised);
    /// Checks the plan against the terms, this machine's pace and its disk; returns what the messages take of it.
    Result<std::uint64_t> check_plan(const RunView& run, GroupMaterial& material, std::uint64_t promised) const;
    /// Runs on the worker thread, and uses only the fields of `record` that belong to the running order.
    Reached reach_member(const RunView& run, const std::optional<SegmentOrder>& order, RoundClock& clock,
                         RunRecord& record);
    Gathered gather(const RunView& run, const std::vector<SentMessage>& messages);
    Answered answer_as_member(const RunView& run, const ReportView& report);
    /// Makes a state again that was committed to and is lost.
    Reached make_again(const RunView& run, std::uint64_t index);
    Result<TileAnswer> member_state_tile(const RunView& run, std::uint64_t index, const ReportView& report,
                                         const kernels::ProgramHeader& inner);
    Result<TileAnswer> message_tile(const RunView& run, const ReportView& report, const CommittedPlan& plan);
    Result<kernels::State> state_of_member(const TaskTerms& terms, std::uint32_t run, std::uint64_t index);

    // Seats of groups (agent_seats.cpp).
    void take_seats(const SolverView& view, Output& out);
    std::optional<SolverWork> work_for_seats(const SolverView& view);
    void on_seat(const SeatReady& result);
    SeatReady prepare_seat(const SeatView& seat, std::uint64_t promised);  ///< Worker thread.

    // Choice of work (agent_scheduling.cpp).
    std::optional<SolverWork> next_work(const SolverView& view);
    /// The waiting report with the earliest place.
    std::optional<Asked> first_report(const SolverView& view) const;
    bool waits(const ReportView& report) const;
    SolverWork answer_order(const RunView& run, const ReportView& report);
    /// Height by which the run's next state is needed; UINT64_MAX if the state is already there.
    std::uint64_t deadline_of(const RunView& run) const;
    std::optional<SolverWork> work_for(const RunView& run);
    bool is_more_urgent(const SolverView& view);

    // Worker thread (agent_work.cpp). No record is accessed there but `suspended` of the running order's run.
    Prepared prepare(const RunView& run, std::uint64_t promised);
    Reached reach(const RunView& run, std::uint64_t index, std::optional<kernels::State>& suspended);
    /// Trains up to state `index`. Returns false if it was preempted; unless that aborted a step, `suspended` then
    /// holds the state that it had reached, from which the next call goes on. If it is null, nothing preempts it.
    Result<bool> make_state(TaskMaterial& material, std::uint32_t run, std::uint64_t first_state,
                            const Hash32& first_root, std::uint64_t index, std::optional<kernels::State>* suspended);
    /// The state to train from towards checkpoint `index`: `suspended`, if it is there and its step is not after
    /// `last_step`, or the newest intact checkpoint.
    Result<std::optional<kernels::State>> nearest(const RunKey& key, std::uint64_t index, std::uint64_t last_step,
                                                  std::optional<kernels::State>* suspended);
    Answered make_answer(const RunView& run, const ReportView& report);
    Result<TileAnswer> state_tile(TaskMaterial& material, const RunView& run, std::uint64_t index,
                                  const ReportView& report);

    SolverConfig config_;
    std::uint64_t disk_byte_cost_ = 0;
    TaskCache& task_cache_;
    CheckpointStore& store_;
    CapabilityAgent capability_;
    Outbox outbox_;
    WorkerSlot slot_;
    bool busy_ = false;                          // An order of this agent is running.
    std::optional<RunningOrder> running_;        // The preparation or training that is running.
    bool prepares_seat_ = false;                 // The running order is for a seat.
    std::map<std::uint64_t, SeatRecord> seats_;  // By task.
    /// The newest views of members that have committed to segments, which the worker thread reads too.
    std::mutex member_views_mutex_;
    std::map<RunKey, std::shared_ptr<const MemberView>> member_views_;
    std::map<RunKey, RunRecord> runs_;               // Runs of the view, and runs that are over but still in the store.
    std::map<std::uint64_t, ReportRecord> reports_;  // By report; a report that was never worked on has none.
    std::vector<FailedWork> waiting_;
    std::vector<std::string> problems_;
    std::uint64_t height_ = 0;
};

}  // namespace retrace::solver
