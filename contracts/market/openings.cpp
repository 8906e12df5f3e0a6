// SPDX-License-Identifier: MIT
// When a state may be opened, and what an opening starts. SPEC 13.1 to 13.3.
#include "contracts/audits/rounds.hpp"
#include "contracts/market/runs.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SegmentState;

bool still_blind(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const auto record = views::segment(view, task, run, segment);
    if (!record) return true;
    if (record->state == SegmentState::waiting_draw) return record->audits == 0;
    if (record->state != SegmentState::auditing) return false;
    const AuditPhase phase = must_load<market::Audit>(view, keys::audit(record->audit)).phase;
    return phase == AuditPhase::waiting || phase == AuditPhase::opening || phase == AuditPhase::collecting ||
           phase == AuditPhase::redrawing;
}

/// The challenge window of a segment starts when both of its ends are open.
void start_window(Effects& fx, const market::Run& run, std::uint64_t index) {
    auto segment = views::segment(fx.state, run.task, run.index, index);
    if (!segment || segment->window_end != 0) return;
    const auto start = views::checkpoint(fx.state, run.task, run.index, index);
    const auto end = views::checkpoint(fx.state, run.task, run.index, index + 1);
    if (!start || !start->opened || !end || !end->opened) return;
    segment->window_end = fx.height + fx.params.challenge_blocks;
    store(fx.state, keys::segment(run.task, run.index, index), *segment);
    schedule(fx, segment->window_end, {DueKind::payment, run.task, run.index, 0});
}

void wake_run(Effects& fx, const market::Task& task, const market::Run& run, std::uint64_t index) {
    auto checkpoint = views::checkpoint(fx.state, task.id, run.index, index);
    if (!checkpoint || !may_open(fx.state, task, run, index)) return;
    if (const auto next = views::segment(fx.state, task.id, run.index, index);
        next && next->state == SegmentState::auditing) {
        auto audit = must_load<market::Audit>(fx.state, keys::audit(next->audit));
        if (audit.phase == AuditPhase::waiting)
            checkpoint->opened ? enter_collecting(fx, audit) : enter_opening(fx, audit);
    }
    if (index == run.first_state || checkpoint->opened) return;
    const auto before = must_load<market::Segment>(fx.state, keys::segment(task.id, run.index, index - 1));
    if (before.state == SegmentState::auditing) {
        auto audit = must_load<market::Audit>(fx.state, keys::audit(before.audit));
        if (audit.phase == AuditPhase::revealing && audit.deadline == 0) start_reveal_deadline(fx, audit);
    } else if (before.state == SegmentState::unaudited && checkpoint->open_deadline == 0) {
        checkpoint->open_deadline = fx.height + fx.params.open_blocks;
        store(fx.state, keys::checkpoint(task.id, run.index, index), *checkpoint);
        schedule(fx, checkpoint->open_deadline + 1, {DueKind::open_deadline, task.id, run.index, index});
    }
}

}  // namespace

bool may_open(const StateView& view, const market::Task& task, const market::Run& run, std::uint64_t index) {
    for (const std::uint32_t active : task.active) {
        const auto other = must_load<market::Run>(view, keys::run(task.id, active));
        if (other.next_state <= index) return false;
        if (index > other.first_state && still_blind(view, task.id, other.index, index - 1)) return false;
    }
    return run.next_state > index;
}

void wake_openings(Effects& fx, std::uint64_t id, std::uint64_t index) {
    const auto runs = must_load<market::Task>(fx.state, keys::task(id)).active;
    for (const std::uint32_t active : runs) {
        // Loaded anew for each: what one run's deadline starts may end another's.
        const auto task = must_load<market::Task>(fx.state, keys::task(id));
        const auto run = must_load<market::Run>(fx.state, keys::run(id, active));
        if (run.state == market::RunState::running) wake_run(fx, task, run, index);
    }
}

bool open_state(Effects& fx, std::uint64_t id, std::uint32_t run_index, std::uint64_t index, const Hash32& salt,
                const Hash32& root) {
    auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(id, run_index, index));
    checkpoint.opened = true;
    checkpoint.open_height = fx.height;
    checkpoint.salt = salt;
    checkpoint.root = root;
    store(fx.state, keys::checkpoint(id, run_index, index), checkpoint);
    fx.emit(StateOpened{id, run_index, index, root});
    const auto run = must_load<market::Run>(fx.state, keys::run(id, run_index));
    if (index == run.first_state) {
        const auto task = must_load<market::Task>(fx.state, keys::task(id));
        const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(id));
        const Hash32& agreed = index == 0 ? spec.initial_state_root : task.resume_root;
        if (!agreed.is_zero() && agreed != root) {  // 13.2
            lose_run(fx, id, run_index, run.locked, std::nullopt, SlashReason::wrong_initial);
            return false;
        }
    }
    if (index > run.first_state) start_window(fx, run, index - 1);
    start_window(fx, run, index);
    return true;
}

}  // namespace retrace::contracts
