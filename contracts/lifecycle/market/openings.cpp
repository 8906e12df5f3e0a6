// SPDX-License-Identifier: MIT
// The conditions for opening a state, and the consequences of an opening. SPEC 13.1 to 13.3.
#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/groups/rollback.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SegmentState;

bool still_blind(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const auto record = views::segment(view, task, run, segment);
    if (!record) return true;
    // Another audit round reveals nothing beyond this run's opening, and deadlines of other runs may have begun.
    if (const auto end = views::checkpoint(view, task, run, segment + 1); end && end->opened) return false;
    if (record->state == SegmentState::waiting_draw) return record->audits == 0;
    if (record->state != SegmentState::auditing) return false;
    const AuditPhase phase = must_load<market::Audit>(view, keys::audit(record->audit)).phase;
    return phase == AuditPhase::waiting || phase == AuditPhase::opening || phase == AuditPhase::collecting ||
           phase == AuditPhase::drawing || phase == AuditPhase::no_auditors;
}

/// 12.7.9, 13.1.1 and 13.7.1: whether `other` is a replica that joined and whose state `index` is not waited for.
bool is_not_awaited(const StateView& view, const market::Run& run, const market::Run& other, std::uint64_t index) {
    if (other.index == run.index) return false;
    return !is_awaited(other, index) || views::is_stopped(view, other.task, other.index);
}

/// Starts the challenge window of a segment once both of its ends are open; the window has room for a replay (13.3).
void start_window(Effects& fx, const market::Run& run, std::uint64_t index) {
    auto segment = views::segment(fx.state, run.task, run.index, index);
    if (!segment || segment->window_end != 0) return;
    const std::uint64_t from = views::start_of_segment(fx.state, run.task, run.index, index);
    const auto start = views::checkpoint(fx.state, run.task, run.index, from);
    const auto end = views::checkpoint(fx.state, run.task, run.index, index + 1);
    if (!start || !start->opened || !end || !end->opened) return;
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    const std::uint64_t until = fx.height + fx.params.challenge_blocks + market::audit_work(spec, index);
    extend_window(fx, run.task, run.index, *segment, until);
    store(fx.state, keys::segment(run.task, run.index, index), *segment);
    schedule_single(fx, segment->window_end, ScheduledKind::payment, run.task, run.index);
}

/// Returns the audit of a segment while it is open.
std::optional<market::Audit> open_audit(const StateView& view, const market::Run& run, std::uint64_t segment) {
    const auto record = views::segment(view, run.task, run.index, segment);
    if (!record || record->state != SegmentState::auditing) return std::nullopt;
    auto audit = must_load<market::Audit>(view, keys::audit(record->audit));
    if (audit.phase == AuditPhase::closed) return std::nullopt;
    return audit;
}

/// Continues the audits on both sides of a state that was opened.
void continue_audits(Effects& fx, const market::Run& run, std::uint64_t index) {
    if (index > run.first_state)
        if (auto before = open_audit(fx.state, run, index - 1); before && before->phase == AuditPhase::revealing)
            enter_verdicts(fx, *before);
    for (const std::uint64_t segment : views::segments_from(fx.state, run.task, run.index, index))
        if (auto after = open_audit(fx.state, run, segment);
            after && (after->phase == AuditPhase::waiting || after->phase == AuditPhase::opening)) {
            if (views::shows_masks(fx.state, run.task, run.index, segment))
                enter_drawing(fx, *after);
            else if (after->phase == AuditPhase::waiting)
                enter_opening(fx, *after);  // 21.11.33
        }
}

/// Starts the deadlines that wait for the opening of a state that is not opened but may be now.
void start_deadlines(Effects& fx, const market::Run& run, std::uint64_t index, market::Checkpoint checkpoint) {
    for (const std::uint64_t segment : views::segments_from(fx.state, run.task, run.index, index))
        if (auto after = open_audit(fx.state, run, segment); after && after->phase == AuditPhase::waiting)
            enter_opening(fx, *after);
    // A state is owed to the segment that ends there; the first state, to the segment that starts there.
    const std::uint64_t owed = index == run.first_state ? index : index - 1;
    const auto segment = views::segment(fx.state, run.task, run.index, owed);
    if (index > run.first_state)
        if (auto before = open_audit(fx.state, run, owed);
            before && before->phase == AuditPhase::revealing && before->deadline == 0)
            return start_reveal_deadline(fx, *before);
    if (!segment || segment->state != SegmentState::unaudited || checkpoint.open_deadline != 0) return;
    store(fx.state, keys::due_openings(run.task, run.index),
          Counter{views::due_openings(fx.state, run.task, run.index) + 1});
    checkpoint.open_deadline = opening_deadline(fx, run.task);
    store(fx.state, keys::checkpoint(run.task, run.index, index), checkpoint);
    schedule(fx, checkpoint.open_deadline + 1, {ScheduledKind::open_deadline, run.task, run.index, index});
}

/// Called when a state is opened whose opening was due.
void note_opened(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const keys::Key due = keys::due_openings(task, run);
    const std::uint64_t before = counter(fx.state, due);
    if (before > 1)
        store(fx.state, due, Counter{before - 1});
    else
        remove(fx.state, due);
}

/// Whether the opening is due: its deadline or that of an audit that waits for it has begun, or auditors wait to reveal
/// verdicts.
bool is_due(const StateView& view, const market::Run& run, std::uint64_t index) {
    const auto state = views::checkpoint(view, run.task, run.index, index);
    if (state && state->open_deadline != 0) return true;
    for (const std::uint64_t segment : views::segments_from(view, run.task, run.index, index))
        if (const auto after = open_audit(view, run, segment); after && after->phase == AuditPhase::opening)
            return true;
    const auto before = index > run.first_state ? open_audit(view, run, index - 1) : std::nullopt;
    return before && before->phase == AuditPhase::revealing;  // Auditors or other runs wait for it (14.7, 14.13.1).
}

/// 14.12.2: whether the state is withheld from the requester, who has not decided to pay for it. States that were due
/// before are not withheld.
bool is_withheld(const StateView& view, const market::Run& run, std::uint64_t index) {
    return run.unaudited_since != 0 && index > run.unaudited_from && !is_due(view, run, index);
}

/// 14.13.1: when the run may open the state but for other runs, and the audits of these are held, they open theirs.
void reveal_held_segments(Effects& fx, const market::Task& task, const market::Run& run, std::uint64_t index) {
    if (run.next_state <= index || is_withheld(fx.state, run, index)) return;
    if (index > run.first_state && still_blind(fx.state, task.id, run.index, index - 1)) return;
    for (const std::uint32_t active : views::replicas_of(fx.state, task, run.index)) {
        const auto other = must_load<market::Run>(fx.state, keys::run(task.id, active));
        if (index <= other.first_state || is_not_awaited(fx.state, run, other, index)) continue;
        if (!still_blind(fx.state, task.id, active, index - 1)) continue;
        if (auto audit = open_audit(fx.state, other, index - 1); audit && is_held(fx.state, *audit))
            enter_revealing(fx, *audit);
    }
}

void wake_run(Effects& fx, const market::Task& task, const market::Run& run, std::uint64_t index) {
    const auto checkpoint = views::checkpoint(fx.state, task.id, run.index, index);
    if (!checkpoint) return;
    if (checkpoint->opened)
        continue_audits(fx, run, index);
    else if (may_open(fx.state, task, run, index))
        start_deadlines(fx, run, index, *checkpoint);
    else
        reveal_held_segments(fx, task, run, index);
}

constexpr std::uint64_t kVisitsMax = 64;  // states of one replica per item

/// 13.1.1: `other` is no longer waited for at states that `run` committed an interval ago. Adds the states that may be
/// opened to `now`, and returns the height at which the next state is due; 0: none.
std::uint64_t pass_by(Effects& fx, const market::Run& run, market::Run& other, std::vector<std::uint64_t>& now) {
    const std::uint64_t interval = longest_interval(fx.state, fx.params, run.task);
    const std::uint64_t first = std::max({other.next_state, other.not_awaited_below + 1, run.first_state});
    for (std::uint64_t index = first; index < run.next_state; ++index) {
        const auto own = must_load<market::Checkpoint>(fx.state, keys::checkpoint(run.task, run.index, index));
        if (fx.height <= own.height + interval) return own.height + interval + 1;
        if (index >= first + kVisitsMax) return fx.height + 1;
        other.not_awaited_below = index;
        now.push_back(index);
    }
    return 0;
}

}  // namespace

bool is_awaited(const market::Run& run, std::uint64_t index) {
    // The state that it starts at is public: another run has opened it. State 0 is opened by each run itself.
    if (run.joined && run.first_state != 0 && index <= run.first_state) return false;
    return !run.joined || run.not_awaited_below <= run.first_state || index > run.not_awaited_below;
}

std::uint64_t longest_interval(const StateView& view, const market::Params& params, std::uint64_t task) {
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(task));
    return std::max(params.checkpoint_blocks, spec.checkpoint_blocks);
}

void pass_late_replicas(Effects& fx, std::uint64_t id, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(id, index));
    if (run.state != market::RunState::running) return;
    std::uint64_t next = 0;
    std::vector<std::uint64_t> now;
    const auto task = must_load<market::Task>(fx.state, keys::task(id));
    for (const std::uint32_t active : views::replicas_of(fx.state, task, index)) {
        auto other = must_load<market::Run>(fx.state, keys::run(id, active));
        if (active == index || !other.joined) continue;
        const std::uint64_t due = pass_by(fx, run, other, now);
        if (due != 0) next = next == 0 ? due : std::min(next, due);
        store(fx.state, keys::run(id, active), other);
    }
    for (const std::uint64_t state : now) wake_openings(fx, id, index, state);
    if (next != 0) schedule_single(fx, next, ScheduledKind::late_replica, id, index);
}

bool all_committed(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index) {
    for (const std::uint32_t active : views::replicas_of(view, task, run.index)) {
        const auto other = must_load<market::Run>(view, keys::run(task.id, active));
        if (other.next_state <= index && !is_not_awaited(view, run, other, index)) return false;
    }
    return run.next_state > index;
}

bool may_open(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index) {
    if (is_withheld(view, run, index)) return false;
    for (const std::uint32_t active : views::replicas_of(view, task, run.index)) {
        const auto other = must_load<market::Run>(view, keys::run(task.id, active));
        if (index > other.first_state && !is_not_awaited(view, run, other, index) &&
            still_blind(view, task.id, other.index, index - 1))
            return false;
    }
    return all_committed(view, task, run, index);
}

void wake_openings(Effects& fx, std::uint64_t id, std::uint32_t run_index, std::uint64_t index) {
    const auto before = must_load<market::Task>(fx.state, keys::task(id));
    for (const std::uint32_t active : views::replicas_of(fx.state, before, run_index)) {
        // Reloaded for each run: starting one run's deadline may end another run.
        const auto task = must_load<market::Task>(fx.state, keys::task(id));
        const auto run = must_load<market::Run>(fx.state, keys::run(id, active));
        if (run.state == market::RunState::running) wake_run(fx, task, run, index);
    }
}

bool open_state(Effects& fx, std::uint64_t id, std::uint32_t run_index, std::uint64_t index, const Hash32& salt,
                const Hash32& root) {
    auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(id, run_index, index));
    if (checkpoint.open_deadline != 0) note_opened(fx, id, run_index);
    checkpoint.opened = true;
    checkpoint.open_height = fx.height;
    checkpoint.salt = salt;
    checkpoint.root = root;
    store(fx.state, keys::checkpoint(id, run_index, index), checkpoint);
    fx.emit(StateOpened{id, run_index, index, root});
    const auto run = must_load<market::Run>(fx.state, keys::run(id, run_index));
    if (index == run.first_state) {
        const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(id));
        const Hash32& agreed = index == 0 ? spec.initial_state_root : run.first_root;
        if (!agreed.is_zero() && agreed != root) {  // 13.2
            repay_undone(fx, id, run_index, SlashReason::wrong_initial);
            const auto left = must_load<market::Run>(fx.state, keys::run(id, run_index)).locked;
            forfeit_run(fx, id, run_index, left, {}, SlashReason::wrong_initial);
            return false;
        }
    }
    if (index > run.first_state) start_window(fx, run, index - 1);
    for (const std::uint64_t segment : views::segments_from(fx.state, id, run_index, index))
        start_window(fx, run, segment);
    compare_replicas(fx, id, run_index, index);
    // 13.4: payments of a run may have waited for this state: for the comparison, or because it is the run's last.
    schedule_single(fx, fx.height + 1, ScheduledKind::payment, id, run_index);
    return must_load<market::Run>(fx.state, keys::run(id, run_index)).state == market::RunState::running;
}

}  // namespace retrace::contracts
