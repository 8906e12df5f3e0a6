// SPDX-License-Identifier: MIT
// `retrace solver`: drives solver::SolverAgent and the solver's side of disputes against a node.
#pragma once

#include <functional>

#include "node/agents/agent_metrics.hpp"
#include "node/agents/agent_process.hpp"
#include "node/agents/bidding.hpp"
#include "node/agents/cheats.hpp"
#include "node/agents/data_checks.hpp"
#include "node/agents/mask_duties.hpp"
#include "node/agents/order_thread.hpp"
#include "node/agents/solver_journal.hpp"
#include "node/agents/worker_processes.hpp"
#include "solver/agent/agent.hpp"
#include "solver/attacks/unresponsive.hpp"
#include "solver/capability/bench.hpp"
#include "verifier/agent/dispute_agent.hpp"

namespace retrace::node {

struct SolverOptions {
    AgentOptions agent;
    std::optional<ledger::U256> price;        ///< Price of a segment; default: four fifths of the ceiling.
    std::uint64_t stake_share = kStakeShare;  ///< Per cent of its stake that one task may lock.
    std::optional<ledger::U256> min_price;    ///< What an hour of this machine must bring; not together with `price`.
    std::uint8_t hardware_class = 0;
    solver::DeviceChoice device = solver::DeviceChoice::automatic;  ///< A cheat computes on the CPU.
    std::optional<SolverCheat> cheat;                               ///< Developer chains only.
    std::set<std::uint64_t> only_tasks;                             ///< Tasks to bid for; empty: all.
    bool groups = false;                                            ///< Whether to take part in trainings in rounds.
    std::vector<ledger::Address> consent;  ///< Auditors of its own data, in private groups: ascending.
    DataUse data_use;                      ///< The tasks that may use its own data.
    double pace = 0;                       ///< Inner steps a second at most, 0: no limit. Developer chains only.
    bool pay_for_retention = false;        ///< Offers verifiers a fee for keeping states, to be paid between audits.
};

class SolverService {
public:
    /// Registers and bonds. Fails when a fraud is asked for on a chain that is not a developer's.
    static Result<std::unique_ptr<SolverService>> open(const SolverOptions& options, ledger::SecretKey key);
    /// Runs until `stop` is true, or until it has drained after `drain` became true: it bids no more, and ends when
    /// each of its runs has committed its next checkpoint, runs of spot tasks are given back and final, its bids are
    /// revealed and a claimed capability is proved, or when the node has not answered for 30 seconds. Fails when another agent has taken over the account.
    Status<> run(const std::atomic<bool>& stop, const std::atomic<bool>& drain);
    /// What it would bid for in the newest block. Reads the chain and this machine's speed; sends and writes nothing.
    static Result<std::vector<Choice>> dry_run(const SolverOptions& options, const ledger::Address& self);

private:
    using AnyResult = std::variant<solver::SolverResult, verifier::Answer, DataChecked>;

    SolverService(const SolverOptions& options, std::unique_ptr<AgentProcess> process,
                  std::unique_ptr<WorkerProcesses> workers);
    Status<> enroll();
    /// Fails if the account is a verifier's, or another agent of it runs.
    Status<> check_account(const RemoteState& state) const;
    /// Whether a capability was claimed, or its claim is on its way, and not proved: the proof is due, or costs stake.
    bool owes_proof(const ledger::StateView& state, const std::optional<market::SolverInfo>& info) const;
    /// Whether it is draining and the node has not answered for so long that it ends without what is owed.
    bool is_node_lost();
    /// Drops the moves that begin new work, and notes whether all runs have reached their next checkpoint and nothing
    /// else is owed.
    void drain(const solver::SolverView& view, std::vector<solver::SolverMove>& moves);
    /// Whether the next checkpoint of the run is sent as its last one (contracts 13.12).
    bool gives_back(const solver::SolverView& view, const solver::CommitCheckpoint& move) const;
    void update_machine(std::uint64_t height);
    void write_choices(std::uint64_t height);
    void on_block(std::uint64_t height);
    /// Says of a reservation once that the machine has promised more than all of its time.
    void warn_of_overlaps();
    /// Sends what the agent moves on the view, and adds its work.
    void act(const solver::SolverView& view);
    /// Returns whether the agent's work has a result.
    bool take_result();
    void play(std::uint64_t height, const std::vector<verifier::DisputeView>& disputes);
    void send(const solver::SolverView& view, const solver::SolverMove& wanted);
    /// Returns the move, or a Decline for a replica whose segments may be copies of what others have committed
    /// meanwhile.
    solver::SolverMove accepted(const solver::SolverView& view, const solver::AcceptData& move);
    Result<Hash32> send_bid(const solver::SolverView& view, const solver::CommitBid& bid);
    /// Lets the programs of a private group read the data if the operator named its requester; true if they may train on them.
    bool may_train(const ledger::StateView& state, solver::TaskTerms& terms);
    /// Lets a run of a private group read the data if the operator named its requester, and else stops its training.
    void allow_data(const ledger::StateView& state, solver::RunView& run);
    /// Leaves the private groups that train no more.
    void leave_stopped(const ledger::StateView& state, std::uint64_t height);
    /// Whether the plan of a free seat's task is known to take this solver's data; has it compared if nobody has. True for
    /// tasks that take none.
    bool fits_data(const RemoteState& state, std::uint64_t height, const FreeSeat& seat);
    /// Sees to it that the auditors of its own data are those of the options, in each of its runs of a private group.
    void update_consent(const ledger::StateView& state, std::uint64_t height, const solver::SolverView& view);
    /// Sends what members owe to the masks of their rounds, and tells the agent those over its messages.
    void play_masks(const RemoteState& state, std::uint64_t height, solver::SolverView& view);
    void play_masks_of(const RemoteState& state, std::uint64_t height, solver::RunView& run);
    void send_masks(const MaskCall& due, std::uint64_t height);
    /// The price that a free seat is paid, or why it is not taken.
    Quote quote_seat(const RemoteState& state, const market::Params& params, const FreeSeat& seat,
                     const market::TaskSpec& spec);
    /// Adds the seats that pay to the view; the agent takes one when it is ready for it.
    void offer_seats(const RemoteState& state, const market::Params& params, const std::vector<FreeSeat>& seats,
                     solver::SolverView& view);
    /// Takes a seat, if it still pays.
    Result<Hash32> send_join(const solver::SolverView& view, const solver::JoinGroup& move);
    void report_problems(std::vector<std::string> problems);
    void write_metrics(const solver::SolverView& view, std::size_t disputes);

    SolverOptions options_;
    std::unique_ptr<AgentProcess> process_;
    std::unique_ptr<WorkerProcesses> workers_;
    SolverJournal journal_;
    Bidding bidding_;
    Withheld withheld_;
    std::map<solver::RunKey, std::uint64_t> consented_;  // Run → height at which consent was sent.
    std::map<std::uint64_t, FreeSeat> seats_;            // Seats of the newest view, by task.
    std::map<std::uint64_t, std::uint64_t> joined_;      // Task → height at which joinTask was sent.
    std::set<solver::RunKey> stopped_;                   // Runs of private groups that may not read the data.
    std::map<solver::RunKey, std::uint64_t> left_;       // Run → height at which leaveTask was sent for that.
    DataChecks data_checks_;
    MaskDuties mask_duties_;
    std::map<Bytes, std::uint64_t> mask_calls_;            // Call → height at which it was sent.
    std::map<solver::RunKey, std::string> mask_problems_;  // As last reported.
    solver::TaskCache task_cache_;
    // Benchmarks have their own threads: those of the task cache may be in the middle of a long step.
    kernels::ThreadPool bench_pool_;
    solver::HonestBench bench_;
    std::unique_ptr<solver::SolverAgent> agent_;
    std::unique_ptr<verifier::DisputeReplays> dispute_replays_;
    std::unique_ptr<verifier::DisputeAgent> disputes_;
    std::optional<solver::Unresponsive> unresponsive_;
    std::optional<solver::AttackingMoves> protocol_attacks_;
    OrderThread<AnyResult> order_thread_;
    OrderThread<solver::CapabilityResult> bench_thread_;
    MetricsFile metrics_;
    std::uint64_t problems_ = 0;        // Reported so far.
    std::optional<std::string> ended_;  ///< Why it must not go on.
    bool draining_ = false, drained_ = false;
    /// While draining: bids to be revealed, and a capability to be proved; not 0 before a block was read meanwhile.
    std::size_t owed_ = 1;
    std::chrono::steady_clock::time_point node_seen_{};   ///< When the node was last not lost.
    std::map<solver::RunKey, std::uint64_t> drain_from_;  ///< By run: its next state when the draining began.
    std::set<solver::RunKey> give_back_;                  ///< Runs of spot tasks that better work needs the time of.
    Machine machine_;
    std::uint64_t machine_height_ = 0;          ///< When the time of blocks was measured.
    std::vector<ReservedTask> reserved_tasks_;  ///< Of the last view.
    std::set<std::uint64_t> overlaps_;  ///< Reservations of which was said that they need more than all of its time.
    ChoiceHistory history_;
    std::string choices_, earlier_, reserved_;  ///< As last written.
    solver::SolverView view_;                   ///< Of the newest block that was read whole.
};

}  // namespace retrace::node
