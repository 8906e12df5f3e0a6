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

std::uint64_t task_count(const StateView& view);              ///< Ids are 1 .. task_count.
std::vector<std::uint64_t> active_tasks(const StateView& view);  ///< Not in a final state, ascending.
std::optional<market::TaskSpec> spec(const StateView& view, std::uint64_t task);
std::optional<market::Task> task(const StateView& view, std::uint64_t task);
std::optional<market::Bid> bid(const StateView& view, std::uint64_t task, const Address& bidder);  ///< This auction's.
std::optional<market::Run> run(const StateView& view, std::uint64_t task, std::uint32_t run);
std::optional<market::Checkpoint> checkpoint(const StateView& view, std::uint64_t task, std::uint32_t run,
                                             std::uint64_t index);
std::optional<market::Segment> segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                       std::uint64_t index);
std::optional<market::Audit> audit(const StateView& view, std::uint64_t audit);
std::optional<market::Dispute> dispute(const StateView& view, std::uint64_t dispute);
/// Only while the dispute is open.
std::optional<verifier::Game> game(const StateView& view, std::uint64_t dispute);
std::optional<market::Report> report(const StateView& view, std::uint64_t report);

/// Zero when the party never staked.
market::Stake stake(const StateView& view, const Address& party);
/// What may be locked or leave: all that is not locked, but a member of the beacon keeps its penalty (SPEC 11.7), and
/// who keeps states a bond (16.3.1).
U256 free_stake(const StateView& view, const market::Params& params, const Address& party);
/// Tasks that are not over and of which it attested to keep a state; at most kKeptTasksMax are remembered.
inline constexpr std::size_t kKeptTasksMax = 16;
std::vector<std::uint64_t> kept_tasks(const StateView& view, const Address& party);
std::optional<market::SolverInfo> solver(const StateView& view, const Address& party);
std::optional<market::VerifierInfo> verifier(const StateView& view, const Address& party);
std::vector<Address> verifiers(const StateView& view);        ///< Members of the beacon, in order of address.
/// Members that may be drawn for audits of a task, some of them when they are free again (SPEC 14.2.1, 14.3); stops
/// counting at `enough`. `barred`: parties of the task.
std::size_t possible_auditors(const StateView& view, const market::Params& params, const std::vector<Address>& barred,
                              std::size_t enough);

/// Who may be challenged to show its capability, in order of address.
std::vector<Address> solvers(const StateView& view);
/// The newest challenge of each solver is there (SolverInfo::challenge); older ones are not.
std::optional<market::Challenge> challenge(const StateView& view, std::uint64_t challenge);

/// The newest mixed epoch and its value; epoch 0's value comes from genesis.
struct Beacon {
    std::uint64_t epoch = 0;
    Hash32 value;
    static auto tie(auto& b) { return std::tie(b.epoch, b.value); }
    static market::Names names() { return {"epoch", "value"}; }
};
std::optional<Beacon> beacon(const StateView& view);
/// Epoch of a block. Reveals of epoch e are taken in its blocks; beacon e is known from the next epoch's first block.
std::uint64_t epoch_of(const market::Params& params, std::uint64_t height);

// What is open for one party, in order of id; how long each list can be is in SPEC 19.
std::vector<std::uint64_t> open_audits(const StateView& view, const Address& party);     ///< Seats of an auditor.
std::vector<std::uint64_t> open_disputes(const StateView& view, const Address& party);   ///< As the challenger.
std::vector<std::uint64_t> run_disputes(const StateView& view, std::uint64_t task, std::uint32_t run);
/// As either side: what it opened, and what is open about its runs.
std::vector<std::uint64_t> disputes_of(const StateView& view, const Address& party);
/// The open dispute of this kind that the party opened about the segment (not of a drawn auditor); 0: none.
std::uint64_t accusation(const StateView& view, market::DisputeKind kind, std::uint64_t task, std::uint32_t run,
                         std::uint64_t segment, const Address& party);
std::uint64_t open_bids(const StateView& view, const Address& party);                    ///< How many, over all tasks.
struct RunId {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    auto operator<=>(const RunId&) const = default;
    static auto tie(auto& r) { return std::tie(r.task, r.run); }
};
std::vector<RunId> open_runs(const StateView& view, const Address& party);               ///< As the solver.
/// Audits of a run whose auditors have yet to say what may convict it. 14.12.5
std::uint64_t seated_audits(const StateView& view, std::uint64_t task, std::uint32_t run);
std::vector<std::uint64_t> open_reports(const StateView& view, std::uint64_t task);      ///< Of one task.

std::vector<std::uint64_t> open_retentions(const StateView& view, std::uint64_t task);
std::optional<market::Retention> retention(const StateView& view, std::uint64_t retention);

struct JoiningState {
    std::uint64_t index = 0;
    Hash32 root;                 ///< Zero for state 0.
};
/// The newest state of any running replica that nobody can dispute any more: a raise that is asked for now is about the
/// segments from there on.
JoiningState newest_finalised_state(const StateView& view, const market::Task& task);
/// Where who wins the open auction starts: as the raise has paid for it, or where the task goes on. Without an auction,
/// what a raise would begin with.
JoiningState joining_state(const StateView& view, const market::Task& task);

std::uint64_t audit_count(const StateView& view);
std::uint64_t dispute_count(const StateView& view);
std::uint64_t report_count(const StateView& view);
std::uint64_t retention_count(const StateView& view);

}  // namespace retrace::contracts::views
