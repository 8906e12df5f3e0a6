// SPDX-License-Identifier: MIT
// The life of a task: auctions, assignment, end. SPEC 12.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Moves the task along the table of states, stores it and emits an event. An event that the table does not list is a
/// broken invariant.
void move_task(Effects& fx, market::Task& task, market::TaskEvent event);
/// Returns the newest state that another active run has committed; the run's first state when there is none.
std::uint64_t committed_by_others(const StateView& view, const market::Task& task, const market::Run& run);
/// Stores which run reached a state in keys::started_from, resumes_from or raise_from; none removes the record.
void note_run(Effects& fx, const keys::Key& key, std::optional<std::uint32_t> run);
/// A run that needs no bid.
struct ReservedRun {
    Address solver;
    U256 price;   ///< Per segment.
    U256 locked;  ///< Of the solver's stake, already.
    std::uint64_t finish_height = 0;
};
/// 12.11: assigns a task that was just posted to the solver that was reserved for it.
void assign_reserved(Effects& fx, market::Task& task, const ReservedRun& reserved);
/// Opens the auction of the next round; the task expires when all its rounds are used up.
void open_auction(Effects& fx, market::Task& task, std::uint64_t pause = 0);
/// Closes the auction at the end of the reveals: assigns the task or lets it expire.
void close_auction(Effects& fx, std::uint64_t task, std::uint32_t round);
/// Whether the current round takes bids: for the whole task, or for more replicas of a running one.
bool takes_bids(const market::Task& task);
/// Opens an auction for `wanted` more replicas of a running task.
void open_raise(Effects& fx, market::Task& task, std::uint8_t wanted);
/// Called when the task stops running: ends an auction for more replicas without result.
void stop_raising(Effects& fx, market::Task& task);
/// Returns every deposit and unlocks every stake of the current auction; deposits of unrevealed bids are burned unless
/// `cancelled`.
void return_bids(Effects& fx, market::Task& task, bool cancelled);
/// Returns the unused escrow to the requester and removes a task in a final state from the list.
void end_task(Effects& fx, market::Task& task);
/// Settles a task in delivering: unlocks the solvers' stakes.
void settle_task(Effects& fx, std::uint64_t task);
/// Pays an auditor of a run from the task's audit budget, by the ceiling of the run's own auction, however late it attests
/// (market 6.1). Returns the amount paid, which is less than the fee when little is left.
U256 pay_audit_fee(Effects& fx, std::uint64_t task, std::uint32_t run, const Address& auditor);

}  // namespace retrace::contracts
