// SPDX-License-Identifier: MIT
// Runs: openings, payments, and how a run ends. SPEC 13. Functions take ids and load what they change themselves, so
// that no caller holds a stale copy across them.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// 13.8.5: states beyond the last finalised one that a run may have committed, so that what is open of it stays
/// bounded.
inline constexpr std::uint64_t kUnfinalisedMax = 1024;

/// Whether others wait for state `index` of the run before they open their own (12.7.9, 13.1.1).
bool is_awaited(const market::Run& run, std::uint64_t index);
/// Longest time between checkpoints of the task.
std::uint64_t longest_interval(const Effects& fx, std::uint64_t task);
/// 13.1.1: the run has waited for replicas that joined, for the states that it committed an interval ago.
void pass_late_replicas(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Whether every active run of the task has committed its own state `index`, as far as it is waited for (12.7.9).
bool all_committed(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index);

/// Whether opening state `index` leaks no audit's answer: every active run of the task has committed its own, and no
/// audit of a segment that ends there still collects commitments or waits for its draw (13.1). Replicas that
/// joined when the state was committed already are not waited for.
bool may_open(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index);

/// Something changed that could make opening state `index` legal: starts the deadlines that waited for it.
void wake_openings(Effects& fx, std::uint64_t task, std::uint64_t index);

/// Records an opening (salt and root were checked against the commitment) and starts challenge windows. False when
/// the run is over: its first state was not the agreed one, or a replica's dispute was decided at once.
bool open_state(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& salt,
                const Hash32& root);

/// 18.4: blocks of work that the run's solver was given since its deadlines last counted them.
std::uint64_t uncounted_work(const StateView& view, const market::Run& run);
/// Moves what is due of the run, and its finishing height, by these blocks, and stores it.
void count_work(Effects& fx, market::Run& run);

/// Stores the run with the deadline of its next checkpoint, which is 0 while 13.8.5 refuses it or when all are there.
void start_checkpoint_deadline(Effects& fx, market::Run& run);

/// Pays every segment that is due, in order; the last one begins the delivery.
void advance_payments(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Pays all that is finalised, though nobody keeps a state of it.
void pay_what_is_finalised(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Slashes `amount` of the run's lock and forfeits the run; the task goes back to bidding when no other run is left.
void lose_run(Effects& fx, std::uint64_t task, std::uint32_t run, const U256& amount,
              const std::vector<Share>& shares, SlashReason reason);
/// As above with a silent solver's penalty: all of the lock when an audit waits for it, else a share (13.5).
void lose_silent_run(Effects& fx, std::uint64_t task, std::uint32_t run, SlashReason reason);
/// 14.10: nobody of all who were drawn for a segment was served. The whole lock is burned, and nobody gets a share.
void forfeit_unaudited_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.10: nobody came to a verdict, and most do not say why. The run ends unpaid, its lock returns.
void end_unaudited_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.12: the requester does not pay for what nobody audits, or says nothing. The run ends, paid for what is finalised,
/// and its lock returns; with the last one the task ends.
void end_waiting_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// Other runs may open states from `index` on that waited for a run which is gone; a bounded number at each height.
void wake_after(Effects& fx, std::uint64_t task, std::uint64_t index);
/// Before acceptData: the solver goes free of charge.
void leave_run(Effects& fx, std::uint64_t task, std::uint32_t run, bool silent);
/// 8.5: a run of a frozen task ends without pay or blame.
void release_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// After delivery.
void settle_run(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
