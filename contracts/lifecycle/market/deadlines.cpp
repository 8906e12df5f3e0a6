// SPDX-License-Identifier: MIT
// The deadlines of acceptances and checkpoints, and how assigned work moves them. SPEC 13.5.1, 13.8, 18.4.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/group_views.hpp"

namespace retrace::contracts {
namespace {

/// Work counted for a deadline that was missed: no work that the solver is given moves it any more.
constexpr std::uint64_t kMissed = UINT64_MAX;

/// Records up to which total of work the run's deadline has counted.
void note_deadline_work(Effects& fx, const market::Run& run, std::uint64_t total) {
    store(fx.state, keys::deadline_work(run.task, run.index), Counter{total});
}

/// Returns the deadline of the next checkpoint: the longest time between checkpoints, counted from the end of the
/// solver's other work (18.4), but at most the bid's finishing height.
std::uint64_t next_checkpoint_deadline(const Effects& fx, const market::Run& run) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    const std::uint64_t longest = std::max(fx.params.checkpoint_blocks, spec.checkpoint_blocks);
    const std::uint64_t from = busy_until(fx.state, run.solver, fx.height);
    return std::max(fx.height + 1, std::min(from + longest, run.finish_height));
}

}  // namespace

bool missed_checkpoint(const StateView& view, const market::Run& run) {
    return run.deadline != 0 && counter(view, keys::deadline_work(run.task, run.index)) == kMissed;
}

void note_missed_checkpoint(Effects& fx, const market::Run& run) {
    store(fx.state, keys::deadline_work(run.task, run.index), Counter{kMissed});
}

std::uint64_t moved_deadline(const StateView& view, const market::Params& params, const market::Run& run) {
    if (run.deadline == 0) return 0;
    const std::uint64_t total = backlog(view, run.solver).total;
    const std::uint64_t counted = counter(view, keys::deadline_work(run.task, run.index));
    const std::uint64_t moved = run.deadline + total - std::min(total, counted);
    if (run.state != market::RunState::assigned) return moved;
    // Its own disputes must not let a winner hold a task for ever that it does not accept (18.4).
    const std::uint64_t latest = run.assigned_height + params.accept_blocks + run.waited + challenges_ahead_max(params);
    return std::max(run.deadline, std::min(moved, latest));
}

bool checkpoint_is_late(const Effects& fx, const market::Run& run) {
    return missed_checkpoint(fx.state, run) ||
           (run.deadline != 0 && fx.height > moved_deadline(fx.state, fx.params, run));
}

void count_work(Effects& fx, market::Run& run) {
    const std::uint64_t total = backlog(fx.state, run.solver).total;
    if (run.deadline != 0 && total > counter(fx.state, keys::deadline_work(run.task, run.index))) {
        run.deadline = moved_deadline(fx.state, fx.params, run);
        note_deadline_work(fx, run, total);
    }
    if (total > run.work_counted) {  // Not otherwise: it gave back some of what was counted.
        run.finish_height += total - run.work_counted;
        run.work_counted = total;
    }
    store(fx.state, keys::run(run.task, run.index), run);
}

void schedule_given_back_end(Effects& fx, const market::Run& run) {
    if (run.finalised + 1 != run.next_state) return;
    const keys::Key key = keys::given_back(run.task, run.index);
    const std::uint64_t since = counter(fx.state, key) == 0 ? fx.height : counter(fx.state, key);
    store(fx.state, key, Counter{since});
    const std::uint64_t attested = since + fx.params.reveal_verdict_blocks + 1;
    const std::uint64_t at = run.paid == run.finalised ? fx.height + 1 : std::max(attested, fx.height + 1);
    schedule_single(fx, at, ScheduledKind::checkpoint_deadline, run.task, run.index);
}

bool is_given_back_and_done(const Effects& fx, const market::Run& run) {
    const std::uint64_t since = counter(fx.state, keys::given_back(run.task, run.index));
    if (since == 0) return false;
    return run.paid == run.finalised || fx.height > since + fx.params.reveal_verdict_blocks;
}

void start_checkpoint_deadline(Effects& fx, market::Run& run) {
    count_work(fx, run);
    if (missed_checkpoint(fx.state, run)) return;                           // 13.5.1
    if (run.next_state > run.first_state) end_finish_wait(run, fx.height);  // It has its first state.
    // While 13.8.5 refuses the commitment, the solver waits for others; its time begins afterwards.
    const bool waits = run.next_state - run.finalised >= kUnfinalisedMax || run.unaudited_since != 0;  // 14.12.3
    const bool complete = run.next_state > must_load<market::TaskSpec>(fx.state, keys::spec(run.task)).segments();
    // 21.5: a member of a group owes its first state only; absence is free.
    const bool free = run.next_state > 0 && views::is_group(fx.state, run.task);
    const bool last = views::is_given_back(fx.state, run.task, run.index);  // 13.12
    run.deadline = waits || complete || free || last ? 0 : next_checkpoint_deadline(fx, run);
    run.waits_until = 0;  // 16.1.13: this deadline has not moved for any answer, so none takes anything back from it.
    if (run.deadline != 0) note_deadline_work(fx, run, backlog(fx.state, run.solver).total);
    store(fx.state, keys::begun_deadline(run.task, run.index), Counter{run.deadline});
    store(fx.state, keys::run(run.task, run.index), run);
    if (run.deadline != 0)
        schedule_single(fx, run.deadline + 1, ScheduledKind::checkpoint_deadline, run.task, run.index);
}

}  // namespace retrace::contracts
