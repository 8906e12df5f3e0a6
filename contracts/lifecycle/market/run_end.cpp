// SPDX-License-Identifier: MIT
// The end of a run. SPEC 13.5 to 13.7.
#include <limits>

#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/retentions.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/convictions.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/groups/rollback.hpp"
#include "contracts/lifecycle/market/reservations.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/records/forged_states.hpp"
#include "contracts/records/standing.hpp"
#include "contracts/records/task_end.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;
using market::TaskEvent;

market::Run run_of(const Effects& fx, std::uint64_t task, std::uint32_t run) {
    return must_load<market::Run>(fx.state, keys::run(task, run));
}

constexpr std::uint64_t kWakeMax = 64;  // states per block

/// 15.8: withdraws the run's accusations of other runs, because it is over.
void withdraw_accusations(Effects& fx, const market::Run& run) {
    for (const std::uint64_t id : replicas_accused(fx.state, run)) withdraw_dispute(fx, id);
}

/// Frees the lock, closes everything that is open about the run, and removes it from the task.
void end_run(Effects& fx, std::uint64_t id, std::uint32_t index, RunState to, std::string_view reason) {
    market::Run run = run_of(fx, id, index);
    release_reservation(fx, id, index);  // 12.11.25: a frozen task ends through nobody's fault.
    note_member_gone(fx, run);
    unlock(fx, run.solver, run.locked);
    run.locked = U256();
    run.deadline = 0;
    run.state = to;
    store(fx.state, keys::run(id, index), run);
    for (const keys::Key& key :
         {keys::deadline_work(id, index), keys::begun_deadline(id, index), keys::pending_draws(id, index),
          keys::due_openings(id, index), keys::woken(id, index), keys::held_audits(id, index),
          keys::audited_segments(id, index), keys::finalised_audits(id, index), keys::given_back(id, index),
          keys::late_openings(id, index)})
        remove(fx.state, key);
    remove_from_list(fx.state, keys::open_runs(run.solver), views::RunId{id, index});
    for (const std::uint64_t audit : list<std::uint64_t>(fx.state, keys::run_audits(id, index)))
        release_audit(fx, audit);
    for (const std::uint64_t dispute : list<std::uint64_t>(fx.state, keys::run_disputes(id, index)))
        withdraw_dispute(fx, dispute);
    withdraw_accusations(fx, run);
    remove(fx.state, keys::windows_until(id, index));  // Withdrawing may have moved it.
    close_reports(fx, id, index);
    return_retentions(fx, id, index, std::numeric_limits<std::uint64_t>::max());
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    std::erase(task.active, index);
    store(fx.state, keys::task(id), task);
    fx.emit(RunEnded{id, run.solver, index, static_cast<std::uint8_t>(to), std::string(reason)});
}

/// 12.7.9: other runs wait for joined replicas again: states committed by a run that is gone may never be opened, so
/// they cannot be copied.
void await_replicas(Effects& fx, const market::Task& task) {
    for (const std::uint32_t active : task.active) {
        auto run = must_load<market::Run>(fx.state, keys::run(task.id, active));
        if (!run.joined) continue;
        run.not_awaited_below = std::min(run.not_awaited_below, committed_by_others(fx.state, task, run));
        store(fx.state, keys::run(task.id, active), run);
    }
}

/// Ends a task for which a successor would find no auditors, or could not be paid.
void expire_task(Effects& fx, market::Task& task, TaskEnd why) {
    note_task_end(fx.state, task.id, why);
    stop_raising(fx, task);
    move_task(fx, task, TaskEvent::forfeit);
    move_task(fx, task, TaskEvent::no_bid);
    end_task(fx, task);
}

void note_paid_wrong(Effects& fx, const market::Run& run) {
    const std::uint64_t known = counter(fx.state, keys::paid_wrong(run.task));
    store(fx.state, keys::paid_wrong(run.task), Counter{std::max(known, run.paid)});
}

/// Whether an audit of the run is open that does not wait for auditors (14.12). `held`: whether those count that wait
/// for their fees (14.13).
bool has_open_audit(const Effects& fx, const market::Run& run, bool held) {
    const auto audits = list<std::uint64_t>(fx.state, keys::run_audits(run.task, run.index));
    return std::any_of(audits.begin(), audits.end(), [&](std::uint64_t id) {
        const auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
        return audit.phase != market::AuditPhase::no_auditors && (held || !is_held(fx.state, audit));
    });
}

/// Whether the run has a dispute, also as the accuser (15.8).
bool has_dispute(const Effects& fx, const market::Run& run) {
    return run.open_disputes != 0 || disputes_replica(fx.state, run);
}

/// 13.7.1: whether a stopped run may still be convicted. Audits of replicas may wait for one another, so after
/// `unbond_blocks` only cases that end by themselves count.
bool may_be_convicted(const Effects& fx, const market::Run& run, std::uint64_t stopped) {
    if (has_dispute(fx, run)) return true;
    if (views::due_audits(fx.state, run.task, run.index) != 0) return true;
    if (views::due_openings(fx.state, run.task, run.index) != 0) return true;  // It shows what it has committed.
    if (fx.height > stopped + fx.params.unbond_blocks) return false;
    // 14.13: nothing of the run will be finalised, so no held audit of it gets auditors.
    return has_open_audit(fx, run, false) || views::pending_draws(fx.state, run.task, run.index) != 0 ||
           holds_windows(fx.state, fx.params, run, fx.height);
}

/// 13.7.1: the run commits and earns nothing more, as after a missed deadline (13.5.1), and ends after its cases.
void stop_run(Effects& fx, market::Run run) {
    const bool was_late = checkpoint_is_late(fx, run);
    store(fx.state, keys::stopped(run.task, run.index), Stop{fx.height, was_late});
    run.state = RunState::running;                // It may have finished; then it does not wait for delivery any more.
    if (!was_late) run.deadline = fx.height - 1;  // It is too late for a commitment in this block already.
    store(fx.state, keys::run(run.task, run.index), run);
    note_missed_checkpoint(fx, run);
    schedule_single(fx, fx.height + 1, ScheduledKind::checkpoint_deadline, run.task, run.index);
}

/// 13.7.1: whether the run stops, and does not end at once. A run that has finished may be in a dispute with a replica.
bool has_to_stop(const Effects& fx, const market::Run& run) {
    if (run.state == RunState::delivering) return has_dispute(fx, run);
    return run.state == RunState::running && (checkpoint_is_late(fx, run) || may_be_convicted(fx, run, fx.height));
}

/// 13.7.1: a run that joined at a wrong state is paid for what is finalised. It stops if it may still be convicted, and
/// otherwise ends with its lock. `run` may be over; then its states only count as wrong from here on.
market::Run end_or_stop(Effects& fx, const market::Run& run) {
    if (run.state == RunState::running) pay_what_is_finalised(fx, run.task, run.index);
    const market::Run paid = run_of(fx, run.task, run.index);
    if (paid.paid > paid.first_state) note_paid_wrong(fx, paid);
    if (has_to_stop(fx, paid)) {
        stop_run(fx, paid);
        return paid;
    }
    store(fx.state, keys::stopped(run.task, run.index), Stop{fx.height, false});
    if (market::is_over(run.state)) return paid;
    end_run(fx, run.task, run.index, RunState::left, slug(SlashReason::wrong_initial));
    auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    task.excluded.push_back(run.solver);
    store(fx.state, keys::task(run.task), task);
    return paid;
}

/// The task does not resume at its resume state. Its segments are paid already, so without other runs the task expires
/// (succeed_run).
void drop_resume_state(Effects& fx, market::Task& task) {
    const std::uint64_t known = counter(fx.state, keys::paid_wrong(task.id));
    store(fx.state, keys::paid_wrong(task.id), Counter{std::max(known, task.first_state)});
    task.first_state = 0;
    task.resume_root = Hash32();
    store(fx.state, keys::task(task.id), task);
    note_run(fx, keys::resumes_from(task.id), std::nullopt);
}

/// 13.7.1: ends or stops the runs that started at a state of this run from `wrong_from` on, and those that started at a
/// state of these, also through runs that are over. Ends a raise that would start at such a state, and drops such a
/// resume state.
void end_runs_from_wrong_states(Effects& fx, const market::Run& wrong, std::uint64_t wrong_from) {
    const auto task = must_load<market::Task>(fx.state, keys::task(wrong.task));
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        const market::Run run = run_of(fx, wrong.task, index);
        if (run.first_state < wrong_from || views::started_from(fx.state, run.task, index) != wrong.index) continue;
        if (views::is_stopped(fx.state, run.task, run.index)) continue;
        const market::Run paid = end_or_stop(fx, run);
        if (!market::is_over(run.state))  // Nobody waits for it any more.
            schedule(fx, fx.height + 1, {ScheduledKind::wake, run.task, 0, run.first_state});
        end_runs_from_wrong_states(fx, paid, run.first_state);
    }
    auto left = must_load<market::Task>(fx.state, keys::task(wrong.task));
    if (left.first_state >= wrong_from && views::resumes_from(fx.state, left.id) == wrong.index)
        drop_resume_state(fx, left);
    const bool raising = left.wanted != 0 && left.state == market::TaskState::running;
    if (raising && left.joining_state >= wrong_from && views::joining_state(fx.state, left).run == wrong.index)
        stop_raising(fx, left);
}

/// 13.7.1: drops the resume state, and ends the open raise and the runs that have not accepted yet, if their start
/// follows from a segment that a run of the task was convicted of. Runs that have begun are left to their own disputes.
void end_forged_starts(Effects& fx, std::uint64_t id) {
    for (const std::uint32_t index : must_load<market::Task>(fx.state, keys::task(id)).active) {
        const market::Run run = run_of(fx, id, index);
        if (run.state != RunState::assigned) continue;
        const auto from = views::started_from(fx.state, id, index);
        if (views::follows_from_forged(fx.state, id, from, run.first_state)) end_or_stop(fx, run);
    }
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (views::follows_from_forged(fx.state, id, views::resumes_from(fx.state, id), task.first_state))
        drop_resume_state(fx, task);
    if (task.wanted == 0 || task.state != market::TaskState::running) return;
    const views::JoiningState start = views::joining_state(fx.state, task);
    if (views::follows_from_forged(fx.state, id, start.run, start.index)) stop_raising(fx, task);
}

/// 21.10: a group goes on without the member. With no member left the task ends.
void go_on_without(Effects& fx, const market::Run& run, TaskEvent event) {
    auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    task.excluded.push_back(run.solver);
    store(fx.state, keys::task(task.id), task);
    if (!task.active.empty()) {
        // The others may have waited for its audit, or for its state to be finalised.
        schedule_single(fx, fx.height + 1, ScheduledKind::payment, task.id, 0);
        return schedule_single(fx, fx.height + 1, ScheduledKind::group_clock, task.id, 0);
    }
    move_task(fx, task, task.state == market::TaskState::assigned ? TaskEvent::leave : event);
    if (task.state == market::TaskState::forfeited) move_task(fx, task, TaskEvent::no_bid);
    end_task(fx, task);
}

/// Called when a run was lost or left: the solver may not bid again, and without other runs the task is auctioned
/// again. `right_until`: the states of a convicted run beyond this one are proved wrong; nobody starts at one of them
/// (13.7.1).
void succeed_run(Effects& fx, const market::Run& run, TaskEvent event, std::uint64_t right_until = kAllRight) {
    if (views::is_group(fx.state, run.task)) return go_on_without(fx, run, event);
    auto task = must_load<market::Task>(fx.state, keys::task(run.task));
    task.excluded.push_back(run.solver);
    const bool stopped = views::is_stopped(fx.state, run.task, run.index);
    if (stopped) right_until = std::min(right_until, run.first_state);
    if (run.paid > right_until) {
        note_paid_wrong(fx, run);
    } else if (run.paid > run.first_state && run.paid > task.first_state) {
        // A replica that joined late and was paid for no segment has no state to resume from.
        task.first_state = run.paid;
        const keys::Key key = keys::checkpoint(run.task, run.index, run.paid);
        task.resume_root = must_load<market::Checkpoint>(fx.state, key).root;
        note_run(fx, keys::resumes_from(task.id), run.index);
    }
    store(fx.state, keys::task(run.task), task);
    if (right_until != kAllRight) end_runs_from_wrong_states(fx, run, stopped ? run.first_state : right_until + 1);
    end_forged_starts(fx, run.task);
    task = must_load<market::Task>(fx.state, keys::task(run.task));
    if (!task.active.empty()) {
        // The others no longer wait for this run: their openings may be legal now, their payments due, and all of them
        // may have finished.
        await_replicas(fx, task);
        schedule(fx, fx.height + 1, {ScheduledKind::wake, run.task, 0, run.finalised});
        for (const std::uint32_t active : task.active)
            schedule_single(fx, fx.height + 1, ScheduledKind::payment, run.task, active);
        return;
    }
    // 13.7.1: the escrow does not pay twice for what a convicted run was paid. A task in delivery resumes nowhere.
    if (task.state == market::TaskState::running && counter(fx.state, keys::paid_wrong(task.id)) > task.first_state)
        return expire_task(fx, task, TaskEnd::paid_wrong);
    stop_raising(fx, task);
    move_task(fx, task, task.state == market::TaskState::assigned ? TaskEvent::leave : event);
    if (task.state == market::TaskState::forfeited)
        open_auction(fx, task);
    else
        end_task(fx, task);
}

/// Whether the ledger has seen what the solver did wrong.
bool is_proof(SlashReason reason) {
    return reason == SlashReason::wrong_result || reason == SlashReason::wrong_initial ||
           reason == SlashReason::wrong_shares;
}

}  // namespace

void forfeit_run(Effects& fx, std::uint64_t id, std::uint32_t index, const U256& amount,
                 const std::vector<Share>& shares, SlashReason reason, std::uint64_t right_until) {
    market::Run run = run_of(fx, id, index);
    ensure(!market::is_over(run.state), "a run ends once");
    slash_locked(fx, run.solver, id, amount, shares, reason);
    run.locked -= amount;
    store(fx.state, keys::run(id, index), run);
    auto solver = must_load<market::SolverInfo>(fx.state, keys::solver(run.solver));
    const bool fault = is_proof(reason) || (run.locked.is_zero() && is_disputed(fx.state, run));
    ++(fault ? solver.reputation.faults : solver.reputation.silences);
    store(fx.state, keys::solver(run.solver), solver);
    note_loss(fx.state, run.solver, amount, fault, fx.height);  // 13.11
    if (run.locked.is_zero()) pay_disputing_auditors(fx, run, shares);
    right_until = std::min(right_until, replicas_agree_until(fx.state, run));
    end_run(fx, id, index, RunState::forfeited, slug(reason));
    roll_back(fx, id, index);
    succeed_run(fx, run, TaskEvent::forfeit, right_until);
}

namespace {

/// 13.5.2: returns the fees of the auditors of segments that the run is not paid for. If there are more than
/// kCountedMax such segments, the newest are counted and stand for all.
U256 fees_for_nothing(const Effects& fx, const market::Run& run) {
    constexpr std::uint64_t kCountedMax = 1024;
    const std::uint64_t end = std::max<std::uint64_t>(run.next_state, 1) - 1;
    if (end <= run.paid) return {};
    const std::uint64_t unpaid = end - run.paid, counted = std::min(unpaid, kCountedMax);
    std::uint64_t seats = 0;
    for (std::uint64_t i = end - counted; i < end; ++i) {
        const auto segment = views::segment(fx.state, run.task, run.index, i);
        const auto audit = segment ? views::audit(fx.state, segment->audit) : std::nullopt;
        if (!audit || views::is_private(fx.state, run.task, run.index, i)) continue;  // 21.13.8: nobody pays those.
        seats += static_cast<std::uint64_t>(std::count_if(
            audit->seats.begin(), audit->seats.end(),
            [](const market::Seat& seat) { return seat.paid || seat.state == market::SeatState::matched; }));
    }
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    return ledger::mul_div(market::audit_fee(fx.params, spec) * U256(seats), U256(unpaid), U256(counted));
}

}  // namespace

void forfeit_silent_run(Effects& fx, std::uint64_t id, std::uint32_t index, SlashReason reason) {
    market::Run run = run_of(fx, id, index);
    // 13.5: silence must not be a cheap escape from an audit that was drawn.
    const bool all = reason != SlashReason::not_checkpointed || has_dispute(fx, run) ||
                     has_open_audit(fx, run, !views::is_stopped(fx.state, id, index));
    if (all) {
        repay_undone(fx, id, index, reason);
        run = run_of(fx, id, index);
    }
    const U256 part = ledger::max(market::split(run.locked, fx.params.silence_penalty_bp).share,
                                  all ? U256() : fees_for_nothing(fx, run));
    const U256 amount = all ? run.locked : ledger::min(part, run.locked);
    if (!all) return forfeit_run(fx, id, index, amount, {}, reason);
    forfeit_run(fx, id, index, amount, shares_for_challenger(fx, run), reason);
}

bool ends_later(const Effects& fx, const market::Run& run) {
    const auto stop = load<Stop>(fx.state, keys::stopped(run.task, run.index));
    if (stop) return may_be_convicted(fx, run, stop->height);
    return views::pending_draws(fx.state, run.task, run.index) != 0 || holds_late_run(fx.state, run);
}

void end_stopped_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const market::Run run = run_of(fx, id, index);
    if (must_load<Stop>(fx.state, keys::stopped(id, index)).was_late)
        return forfeit_silent_run(fx, id, index, SlashReason::not_checkpointed);
    end_run(fx, id, index, RunState::left, slug(SlashReason::wrong_initial));
    succeed_run(fx, run, TaskEvent::forfeit);
}

namespace {

/// 13.5.1: a missing auditor forgives no missed checkpoint. Returns false if the run has neither stopped nor missed one.
bool end_stopped_or_late_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    if (views::is_stopped(fx.state, id, index)) {
        end_stopped_run(fx, id, index);  // 13.7.1
        return true;
    }
    if (!checkpoint_is_late(fx, run_of(fx, id, index))) return false;
    forfeit_silent_run(fx, id, index, SlashReason::not_checkpointed);
    return true;
}

}  // namespace

void forfeit_unaudited_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    // Also what others' segments cost that this undoes (21.14.7): nobody gains by reports that nothing was served.
    forfeit_run(fx, id, index, run_of(fx, id, index).locked, {}, SlashReason::not_audited);
}

void end_unaudited_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    if (end_stopped_or_late_run(fx, id, index)) return;
    const market::Run run = run_of(fx, id, index);
    end_run(fx, id, index, RunState::left, slug(SlashReason::not_audited));
    succeed_run(fx, run, TaskEvent::forfeit);
}

void end_waiting_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    if (end_stopped_or_late_run(fx, id, index)) return;
    pay_what_is_finalised(fx, id, index, true);
    const market::Run run = run_of(fx, id, index);
    end_run(fx, id, index, RunState::left, slug(SlashReason::not_audited));
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (!task.active.empty()) return succeed_run(fx, run, TaskEvent::forfeit);
    expire_task(fx, task, TaskEnd::not_audited);  // A successor would find no auditors either.
}

void wake_after(Effects& fx, std::uint64_t id, std::uint32_t run, std::uint64_t index) {
    const auto active_runs = views::replicas_of(fx.state, must_load<market::Task>(fx.state, keys::task(id)), run);
    std::uint64_t end = 0;
    for (const std::uint32_t active : active_runs) end = std::max(end, run_of(fx, id, active).next_state);
    const std::uint64_t stop = std::min(end, index + kWakeMax);
    for (; index < stop; ++index) wake_openings(fx, id, run, index);
    if (index < end) schedule(fx, fx.height + 1, {ScheduledKind::wake, id, run, index});
}

void leave_run(Effects& fx, std::uint64_t id, std::uint32_t index, bool silent) {
    market::Run run = run_of(fx, id, index);
    if (const auto deposit = break_reservation(fx, id, index)) {  // 12.11.26
        const U256 lost = ledger::min(*deposit, run.locked);
        if (silent) return forfeit_run(fx, id, index, lost, {}, SlashReason::not_honoured);
        slash_locked(fx, run.solver, id, lost, {}, SlashReason::not_honoured);
        run.locked -= lost;
        store(fx.state, keys::run(id, index), run);
    }
    if (silent) {
        auto solver = must_load<market::SolverInfo>(fx.state, keys::solver(run.solver));
        ++solver.reputation.silences;
        store(fx.state, keys::solver(run.solver), solver);
    }
    end_run(fx, id, index, RunState::left, silent ? "not_accepted" : "declined");
    succeed_run(fx, run, TaskEvent::forfeit);
}

void end_given_back(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const market::Run run = run_of(fx, id, index);
    end_run(fx, id, index, RunState::left, "given_back");
    store(fx.state, keys::given_back(id, index), Counter{fx.height});  // Why it ended can be told later.
    succeed_run(fx, run, TaskEvent::forfeit);
}

void leave_group(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const market::Run run = run_of(fx, id, index);
    end_run(fx, id, index, RunState::left, "left");
    go_on_without(fx, run, TaskEvent::forfeit);
}

void disband_group(Effects& fx, std::uint64_t id) {
    for (const std::uint32_t index : must_load<market::Task>(fx.state, keys::task(id)).active) {
        const market::Run run = run_of(fx, id, index);
        if (!checkpoint_is_late(fx, run))
            leave_group(fx, id, index);
        else if (run.state == RunState::assigned)
            leave_run(fx, id, index, true);
        else
            forfeit_silent_run(fx, id, index, SlashReason::not_checkpointed);
    }
}

void release_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    end_run(fx, id, index, RunState::left, "frozen");
}

void settle_run(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const market::Run run = run_of(fx, id, index);
    auto solver = must_load<market::SolverInfo>(fx.state, keys::solver(run.solver));
    ++solver.reputation.settled;
    store(fx.state, keys::solver(run.solver), solver);
    end_run(fx, id, index, RunState::settled, "settled");
}

}  // namespace retrace::contracts
