// SPDX-License-Identifier: MIT
// Typed reads of everything that the contracts store, on any StateView: the chain's own, or a remote one that an
// agent reads through a node. An unknown id and a record that does not decode are both nullopt. SPEC 6.
#pragma once

#include <optional>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/capability.hpp"
#include "market/params.hpp"
#include "market/types.hpp"
#include "verifier/game/game.hpp"

namespace retrace::contracts::views {

using ledger::Address;
using ledger::StateView;
using ledger::U256;

std::optional<market::Params> params(const StateView& view);

std::uint64_t task_count(const StateView& view);                 ///< Ids are 1 .. task_count.
std::vector<std::uint64_t> active_tasks(const StateView& view);  ///< Tasks not in a final state, ascending.
std::optional<market::TaskSpec> spec(const StateView& view, std::uint64_t task);
std::optional<market::Task> task(const StateView& view, std::uint64_t task);
std::optional<market::Bid> bid(const StateView& view, std::uint64_t task, const Address& bidder);  ///< Current auction.
std::optional<market::Run> run(const StateView& view, std::uint64_t task, std::uint32_t run);
std::optional<market::Checkpoint> checkpoint(const StateView& view, std::uint64_t task, std::uint32_t run,
                                             std::uint64_t index);
std::optional<market::Segment> segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                       std::uint64_t index);
std::optional<market::Audit> audit(const StateView& view, std::uint64_t audit);
std::optional<market::Dispute> dispute(const StateView& view, std::uint64_t dispute);
/// Returns nullopt unless the dispute is open.
std::optional<verifier::Game> game(const StateView& view, std::uint64_t dispute);
std::optional<market::Report> report(const StateView& view, std::uint64_t report);

/// Returns zeros when the party never staked.
market::Stake stake(const StateView& view, const Address& party);
/// Returns the stake that may be locked or withdrawn: all that is not locked, less the penalty that a beacon member
/// keeps (SPEC 11.7) and the bond that a keeper of states keeps (16.3.1).
U256 free_stake(const StateView& view, const market::Params& params, const Address& party);
/// Returns the tasks that are not over and of which the party attested to keep a state; at most kKeptTasksMax are
/// remembered.
inline constexpr std::size_t kKeptTasksMax = 16;
std::vector<std::uint64_t> kept_tasks(const StateView& view, const Address& party);
std::optional<market::SolverInfo> solver(const StateView& view, const Address& party);
std::optional<market::VerifierInfo> verifier(const StateView& view, const Address& party);
std::vector<Address> verifiers(const StateView& view);  ///< Members of the beacon, in order of address.
/// Returns the parties that registered when the list of members was full and wait for a place (SPEC 11.8), in order of
/// address.
std::vector<Address> candidates(const StateView& view);
bool is_candidate(const StateView& view, const Address& party);
/// Counts the members that may be drawn for audits of a task, now or when they are free again (SPEC 14.2.1, 14.3);
/// stops at `enough`. `barred`: parties of the task.
std::size_t possible_auditors(const StateView& view, const market::Params& params, const std::vector<Address>& barred,
                              std::size_t enough);

/// Returns the solvers that may be challenged to show their capability, in order of address.
std::vector<Address> solvers(const StateView& view);
/// Only the newest challenge of each solver is stored (SolverInfo::challenge).
std::optional<market::Challenge> challenge(const StateView& view, std::uint64_t challenge);

/// The newest mixed epoch and its value; epoch 0's value comes from genesis.
struct Beacon {
    std::uint64_t epoch = 0;
    Hash32 value;
    static auto tie(auto& b) { return std::tie(b.epoch, b.value); }
    static market::Names names() { return {"epoch", "value"}; }
};
std::optional<Beacon> beacon(const StateView& view);
/// Returns the epoch of a block. Reveals of epoch e are taken in its blocks; beacon e is known from the first block of
/// epoch e + 1.
std::uint64_t epoch_of(const market::Params& params, std::uint64_t height);

// Open records of one party, in order of id. SPEC 19 limits the length of each list.
std::vector<std::uint64_t> open_audits(const StateView& view, const Address& party);    ///< As an auditor.
std::vector<std::uint64_t> open_disputes(const StateView& view, const Address& party);  ///< As the challenger.
std::vector<std::uint64_t> run_disputes(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Returns the open disputes of a party on either side: those it opened, and those about its runs.
std::vector<std::uint64_t> disputes_of(const StateView& view, const Address& party);
/// Returns the open dispute of this kind that the party opened about the segment, drawn auditors' disputes excluded; 0:
/// none.
std::uint64_t accusation(const StateView& view, market::DisputeKind kind, std::uint64_t task, std::uint32_t run,
                         std::uint64_t segment, const Address& party);
std::uint64_t open_bids(const StateView& view, const Address& party);  ///< Number over all tasks.
struct RunId {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    auto operator<=>(const RunId&) const = default;
    static auto tie(auto& r) { return std::tie(r.task, r.run); }
};
std::vector<RunId> open_runs(const StateView& view, const Address& party);  ///< As the solver.
/// Returns the number of audits of a run whose auditors have yet to reveal verdicts that may convict it. 14.12.5
std::uint64_t seated_audits(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Those of them that end at a deadline of their own.
std::uint64_t due_audits(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Whether the run has stopped because it joined at a state that is proved wrong, and waits for its cases (13.7.1).
bool is_stopped(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Whether the run is given back and commits nothing more, or has ended so (13.12).
bool is_given_back(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Number of the run's segments whose draw is still to come.
std::uint64_t pending_draws(const StateView& view, std::uint64_t task, std::uint32_t run);
/// Number of the run's states whose opening (13.9) is due.
std::uint64_t due_openings(const StateView& view, std::uint64_t task, std::uint32_t run);
std::vector<std::uint64_t> open_reports(const StateView& view, std::uint64_t task);  ///< Of one task.

std::vector<std::uint64_t> open_retentions(const StateView& view, std::uint64_t task);
std::optional<market::Retention> retention(const StateView& view, std::uint64_t retention);

struct JoiningState {
    std::uint64_t index = 0;
    Hash32 root;                       ///< Zero for state 0.
    std::optional<std::uint32_t> run;  ///< The run that reached it; none for state 0.
};
/// The run that reached the state at which this run started, and at which the task resumes; none at state 0.
std::optional<std::uint32_t> started_from(const StateView& view, std::uint64_t task, std::uint32_t run);
std::optional<std::uint32_t> resumes_from(const StateView& view, std::uint64_t task);
/// Returns the newest finalised state of any running replica that has not stopped (13.7.1): a raise of the replicas
/// requested now covers the segments from there on.
JoiningState newest_finalised_state(const StateView& view, const market::Task& task);
/// Returns the state from which the winner of the open auction starts: the one that the raise was paid for, or the one
/// at which the task resumes. Without an auction: the state from which a raise would start.
JoiningState joining_state(const StateView& view, const market::Task& task);

std::uint64_t audit_count(const StateView& view);
std::uint64_t dispute_count(const StateView& view);
std::uint64_t report_count(const StateView& view);
std::uint64_t retention_count(const StateView& view);

}  // namespace retrace::contracts::views
