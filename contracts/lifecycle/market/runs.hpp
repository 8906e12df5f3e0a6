// SPDX-License-Identifier: MIT
// Runs: openings, payments, and ends. SPEC 13. Functions take ids and load what they change themselves, so that no
// caller holds a stale copy across them.
#pragma once

#include "contracts/lifecycle/staking/stakes.hpp"

namespace retrace::contracts {

/// 13.8.5: the limit on states that a run may have committed beyond its last finalised one, which bounds its open
/// records.
inline constexpr std::uint64_t kUnfinalisedMax = 1024;

/// Whether other runs wait for state `index` of the run before they open their own (12.7.9, 13.1.1).
bool is_awaited(const market::Run& run, std::uint64_t index);
/// Returns the longest time between checkpoints of the task, in blocks.
std::uint64_t longest_interval(const StateView& view, const market::Params& params, std::uint64_t task);
/// 13.1.1: ends the run's wait for replicas that joined, for states that it committed at least one interval ago.
void pass_late_replicas(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Whether every active run of the task whose state `index` is waited for has committed it (12.7.9).
bool all_committed(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index);

/// Whether state `index` is not withheld (14.12.2) and opening it leaks no audit's answer: every active run of the task
/// has committed its own, and no audit of a segment that ends there still collects commitments or waits for its draw
/// (13.1). Replicas that joined when the state was committed already are not waited for.
bool may_open(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index);

/// Called when a change of `run` may make opening state `index` legal: starts the deadlines that waited for it, in all
/// runs of the task. Members of a group do not wait for one another.
void wake_openings(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index);

/// Records an opening (salt and root were checked against the commitment) and starts challenge windows. Returns false
/// when the run is over: its first state was not the agreed one, or a replica's dispute was decided at once.
bool open_state(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& salt,
                const Hash32& root);

/// 18.4: the run's deadline, moved by the work that its solver was assigned since the deadline was set or last moved,
/// less the work that returned; 0 when no deadline is set.
std::uint64_t moved_deadline(const StateView& view, const market::Params& params, const market::Run& run);
/// 13.5.1: whether the run has missed a checkpoint and goes on for draws or disputes. Its deadline moves no more.
bool missed_checkpoint(const StateView& view, const market::Run& run);
void note_missed_checkpoint(Effects& fx, const market::Run& run);
/// 13.5.1: whether the deadline of the run's next checkpoint has passed, also when the scheduler notes it later in this
/// block, or is behind.
bool checkpoint_is_late(const Effects& fx, const market::Run& run);
/// Moves the run's deadline and its finishing height by work that was assigned meanwhile, and stores the run.
void count_work(Effects& fx, market::Run& run);

/// Stores the run with the deadline of its next checkpoint: 0 while 13.8.5 refuses that checkpoint, or when all are
/// committed.
void start_checkpoint_deadline(Effects& fx, market::Run& run);

/// Pays every segment of the run that is due, in order; the last one starts the delivery. Then lets audits of the task
/// go on that waited for it (14.13).
void advance_payments(Effects& fx, std::uint64_t task, std::uint32_t run);

/// Whether the next segment of a run that joined could be finalised at this height. A block finalises few of them,
/// because each is compared with those of all other runs, so the run must not end before the next blocks.
bool payments_lag(const StateView& view, const market::Params& params, const market::Run& run, std::uint64_t height);
/// Pays all finalised segments, even if no keeper has a state of them.
void pay_what_is_finalised(Effects& fx, std::uint64_t task, std::uint32_t run, bool ends_unaudited = false);

inline constexpr std::uint64_t kAllRight = UINT64_MAX;
/// Slashes `amount` of the run's lock and forfeits the run; the task goes back to bidding when no other run is left.
/// `right_until`: the newest state of the run that is not proved wrong (13.7.1).
void forfeit_run(Effects& fx, std::uint64_t task, std::uint32_t run, const U256& amount,
                 const std::vector<Share>& shares, SlashReason reason, std::uint64_t right_until = kAllRight);
/// As forfeit_run, with a silent solver's penalty: the whole lock when an audit waits for the solver, else a share
/// (13.5).
void forfeit_silent_run(Effects& fx, std::uint64_t task, std::uint32_t run, SlashReason reason);
/// Whether a run that has missed a checkpoint still waits for draws, or for disputes opened since its deadline (13.5.1),
/// or one that has stopped waits for its cases (13.7.1).
bool ends_later(const Effects& fx, const market::Run& run);
/// 13.7.1: ends a run that had stopped. Its lock returns, but for the penalty if it was late before (13.5.1).
void end_stopped_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.10: forfeits a run with a segment for which no auditor came to a verdict and most reported that they were not
/// served. The whole lock is burned.
void forfeit_unaudited_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.10: ends a run with a segment for which no auditor came to a verdict and most did not report that they were not
/// served. The run is not paid; its lock is returned.
void end_unaudited_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 14.12: ends a run because the requester refuses to pay for unaudited segments, or does not decide in time. Finalised
/// segments are paid and the lock is returned; the last such run ends the task.
void end_waiting_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// Called when a run is gone, or its wait for auditors: wakes the openings of runs that waited for it, from state `index`
/// on; a bounded number at each height.
void wake_after(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index);
/// Ends a run before acceptData, without a slash unless it was reserved (12.11.26). `silent`: the winner did not answer, which counts in its reputation.
void leave_run(Effects& fx, std::uint64_t task, std::uint32_t run, bool silent);
/// 13.12: has a run that is given back end at the next block if all of it is final and paid, or when its last auditors have
/// had their time to attest. Called after payments; before all of it is final it does nothing.
void schedule_given_back_end(Effects& fx, const market::Run& run);
/// Whether that time has come.
bool is_given_back_and_done(const Effects& fx, const market::Run& run);
/// 13.12: ends a run that was given back. Its lock returns, and the task is auctioned again.
void end_given_back(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 21.10: ends a member that leaves. Its lock returns.
void leave_group(Effects& fx, std::uint64_t task, std::uint32_t run);
/// 21.4: ends all members of a group that cannot begin, and so the task; those that are late as for a missed deadline.
void disband_group(Effects& fx, std::uint64_t task);
/// 8.5: ends a run of a frozen task without payment or penalty.
void release_run(Effects& fx, std::uint64_t task, std::uint32_t run);
/// Ends a run after delivery.
void settle_run(Effects& fx, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
