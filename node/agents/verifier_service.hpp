// SPDX-License-Identifier: MIT
// `retrace verifier`: drives verifier::VerifierAgent against a node.
#pragma once

#include <map>
#include <set>

#include "node/agents/agent_metrics.hpp"
#include "node/agents/agent_process.hpp"
#include "node/agents/data_checks.hpp"
#include "node/agents/order_thread.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/worker_processes.hpp"
#include "verifier/agent/agent.hpp"
#include "verifier/attacks/verifier_attacks.hpp"

namespace retrace::node {

struct VerifierOptions {
    AgentOptions agent;
    std::optional<verifier::VerifierAttack> attack;  ///< Developer chains only.
    std::uint64_t watch_bp = 0;  ///< Share of all opened segments that it checks without a seat, in basis points.
    /// It only replays the segments of this task as they are opened, and disputes wrong ones: it joins no beacon, and
    /// `run` ends when the task has ended or is delivered, nothing is left to replay, and its disputes are over.
    std::optional<std::uint64_t> challenged_task;
};

/// Segments that were replayed undrawn.
struct ReplayedSegments {
    std::set<solver::CheckpointKey> done;
    std::map<solver::CheckpointKey, std::string> failed;  ///< Why they could not be, when last tried.
};

class VerifierService {
public:
    /// Bonds and joins the beacon. Fails when a fraud is asked for on a chain that is not a developer's.
    static Result<std::unique_ptr<VerifierService>> open(const VerifierOptions& options, ledger::SecretKey key);
    /// Runs until `stop` is true; fails when another agent has taken over the account.
    Status<> run(const std::atomic<bool>& stop);
    const ReplayedSegments& replayed() const noexcept { return replayed_; }

private:
    using AnyResult = std::variant<verifier::VerifierResult, DataChecked>;

    VerifierService(const VerifierOptions& options, std::unique_ptr<AgentProcess> process,
                    std::unique_ptr<WorkerProcesses> workers);
    Status<> enroll();
    /// Fails if the account is a solver's, or another agent of it runs.
    Status<> check_account(const RemoteState& state, const std::optional<market::VerifierInfo>& info) const;
    /// Registers again when a restarted member serves from another port, or when its chain of links ends and the next
    /// one is needed. It does so only when it owes no reveal: until then the chain refuses it (contracts SPEC 10.5.5),
    /// and waiting for it must not cost the reveal.
    void update_registration(const market::VerifierInfo& info, const market::Params& params, std::uint64_t height);
    /// Returns true if this party is a candidate, or if the state cannot be read now. A candidate is admitted without
    /// another registration (contracts SPEC 11.8).
    bool waits_for_place(const RemoteState& state);
    void on_block(std::uint64_t height);
    void count(const verifier::VerifierResult& result);
    /// Accepts the consents of the members of private groups that the operator named and whose data are here, withdraws all
    /// others, and keeps the states of their trainings from strangers.
    void update_consents(const RemoteState& state, std::uint64_t height);
    /// Whether the operator gave it the data of this member, and they fit the member's plan; nullopt: nobody has compared
    /// them yet, which this orders. Lets the member's task read them.
    std::optional<bool> has_data(const ledger::StateView& state, std::uint64_t height, const market::Run& run,
                                 const std::vector<Hash32>& roots, std::vector<solver::WorkOrder<DataChecked>>& orders);
    void write_metrics(const verifier::VerifierView& view);
    /// Whether the task that it challenges runs no more, and there was nothing to do in this block and in some before.
    bool is_finished(const RemoteState& state, const verifier::VerifierView& view,
                     const verifier::Verifier::Output& out);

    VerifierOptions options_;
    std::unique_ptr<AgentProcess> process_;
    std::unique_ptr<WorkerProcesses> workers_;
    solver::TaskCache task_cache_;
    verifier::VerifierAgent* agent_ = nullptr;  ///< Inside verifier_.
    std::unique_ptr<verifier::Verifier> verifier_;
    std::map<solver::RunKey, std::uint64_t> answered_;  ///< Run → height at which its consent was answered.
    Seats seats_;
    DataChecks data_checks_;
    std::set<std::uint64_t> unfit_;  ///< Tasks whose plan does not take the data: it was said.
    std::uint64_t height_ = 0;       ///< Of the last block.
    OrderThread<AnyResult> order_thread_;
    std::uint64_t enrolled_height_ = 0, moved_height_ = 0;
    std::optional<std::string> ended_;  ///< Why it must not go on.
    bool waits_ = false;                ///< It has logged that it is a candidate.
    MetricsFile metrics_;
    std::uint64_t problems_ = 0;  // Reported so far.
    ReplayedSegments replayed_;
    std::uint64_t idle_blocks_ = 0;
    bool finished_ = false;
};

}  // namespace retrace::node
