// SPDX-License-Identifier: MIT
// The life of a task: auctions, assignment, end. SPEC 12.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

/// Goes along the table (an event that is not listed is a broken invariant), stores the task and tells.
void move_task(Effects& fx, market::Task& task, market::TaskEvent event);
/// The newest state that another active run has committed; the run's first one when none has committed more.
std::uint64_t committed_by_others(const StateView& view, const market::Task& task, const market::Run& run);
/// Bids for the next round; expires the task when it has had all its rounds.
void open_auction(Effects& fx, market::Task& task);
/// At the end of the reveals: assigns or expires.
void close_auction(Effects& fx, std::uint64_t task, std::uint32_t round);
/// Whether bids of the current round are taken: for the whole task, or for more replicas of a running one.
bool takes_bids(const market::Task& task);
/// Bids for `wanted` more replicas of a running task.
void open_raise(Effects& fx, market::Task& task, std::uint8_t wanted);
/// The task stops running: an auction for more replicas ends without result.
void stop_raising(Effects& fx, market::Task& task);
/// Every deposit back and every lock of the current auction freed; unrevealed deposits are burned unless `cancelled`.
void return_bids(Effects& fx, market::Task& task, bool cancelled);
/// Returns what is left to the requester and takes a task in a final state off the list.
void end_task(Effects& fx, market::Task& task);
/// Settles a task in delivering: frees the stakes.
void settle_task(Effects& fx, std::uint64_t task);
/// Pays an auditor out of the task's audit budget; returns what it got (less than the fee when little is left).
U256 pay_audit_fee(Effects& fx, std::uint64_t task, const Address& auditor);

}  // namespace retrace::contracts
