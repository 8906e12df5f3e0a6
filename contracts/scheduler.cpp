// SPDX-License-Identifier: MIT
#include "contracts/scheduler.hpp"

#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/audits/members.hpp"
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/segment_draw.hpp"
#include "contracts/lifecycle/audits/waiting_audits.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/market/reservations.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/lifecycle/staking/capability.hpp"

namespace retrace::contracts {
namespace {

void accept_deadline(Effects& fx, std::uint64_t task, std::uint32_t index) {
    auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::assigned) return;
    count_work(fx, run);
    if (fx.height > run.deadline) return leave_run(fx, task, index, true);
    schedule_single(fx, run.deadline + 1, ScheduledKind::accept_deadline, task, index);
}

void checkpoint_deadline(Effects& fx, std::uint64_t task, std::uint32_t index) {
    auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::running) return;
    if (views::is_given_back(fx.state, task, index) && !views::is_stopped(fx.state, task, index)) {  // 13.12
        if (is_given_back_and_done(fx, run)) return end_given_back(fx, task, index);
        return schedule_given_back_end(fx, run);
    }
    if (run.deadline == 0) return;  // 13.8.6: none is due
    count_work(fx, run);
    if (fx.height <= run.deadline)  // A commitment or a wait has moved the deadline.
        return schedule_single(fx, run.deadline + 1, ScheduledKind::checkpoint_deadline, task, index);
    // 13.5.1: the reveals that decide a draw are public before the draw. A deadline between them must not let a solver
    // that sees itself drawn leave for less than its lock.
    if (ends_later(fx, run)) {
        note_missed_checkpoint(fx, run);
        const std::uint64_t next = (views::epoch_of(fx.params, fx.height) + 1) * fx.params.epoch_blocks;
        return schedule_single(fx, next + 1, ScheduledKind::checkpoint_deadline, task, index);
    }
    if (views::is_stopped(fx.state, task, index)) return end_stopped_run(fx, task, index);
    forfeit_silent_run(fx, task, index, SlashReason::not_checkpointed);
}

void open_deadline(Effects& fx, std::uint64_t task, std::uint32_t index, std::uint64_t state) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    const auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(task, index, state));
    if (run.state == market::RunState::running && !checkpoint.opened)
        forfeit_silent_run(fx, task, index, SlashReason::not_opened);
}

void deliver_deadline(Effects& fx, std::uint64_t id) {
    if (must_load<market::Task>(fx.state, keys::task(id)).state != market::TaskState::delivering) return;
    // 16.1.18: an open report ends first, also when its deadline is noted later in this block.
    std::uint64_t due = 0;
    for (const std::uint64_t open : views::open_reports(fx.state, id)) {
        const auto report = must_load<market::Report>(fx.state, keys::report(open));
        if (report.kind == market::ReportKind::model) due = std::max({due, report.deadline, fx.height});
    }
    if (due != 0) return schedule(fx, due + 1, {ScheduledKind::deliver_deadline, id, 0, 0});
    settle_task(fx, id);
}

void task_payments(Effects& fx, std::uint64_t id) {
    const auto active = must_load<market::Task>(fx.state, keys::task(id)).active;
    for (const std::uint32_t index : active) advance_payments(fx, id, index);
}

/// Whether one scheduled item of this kind is enough (SPEC 9.3).
bool is_single(ScheduledKind kind) {
    return kind == ScheduledKind::accept_deadline || kind == ScheduledKind::checkpoint_deadline ||
           kind == ScheduledKind::payment || kind == ScheduledKind::dispute_clock ||
           kind == ScheduledKind::audit_deadline || kind == ScheduledKind::late_replica ||
           kind == ScheduledKind::unaudited || kind == ScheduledKind::group_clock;
}

void handle(Effects& fx, const ScheduledItem& item) {
    if (is_single(item.kind) && !take_scheduled_item(fx, item)) return;
    switch (item.kind) {
        case ScheduledKind::auction_close: return close_auction(fx, item.id, item.run);
        case ScheduledKind::accept_deadline: return accept_deadline(fx, item.id, item.run);
        case ScheduledKind::checkpoint_deadline: return checkpoint_deadline(fx, item.id, item.run);
        case ScheduledKind::draw: return draw_segment(fx, item.id, item.run, item.index);
        case ScheduledKind::audit_deadline: return audit_deadline(fx, item.id);
        case ScheduledKind::redraw: return draw_auditors_of(fx, item.id);
        case ScheduledKind::open_deadline: return open_deadline(fx, item.id, item.run, item.index);
        case ScheduledKind::payment: return task_payments(fx, item.id);
        case ScheduledKind::dispute_clock: return dispute_clock(fx, item.id);
        case ScheduledKind::deliver_deadline: return deliver_deadline(fx, item.id);
        case ScheduledKind::report_deadline: return report_deadline(fx, item.id);
        case ScheduledKind::wake: return wake_after(fx, item.id, item.run, item.index);
        case ScheduledKind::challenge: return handle_capability_challenge(fx, item.id);
        case ScheduledKind::release: return release_task(fx, item.id);
        case ScheduledKind::late_replica: return pass_late_replicas(fx, item.id, item.run);
        case ScheduledKind::group_clock: return group_clock(fx, item.id);
        case ScheduledKind::reservation: return reservation_due(fx, item.id);
        case ScheduledKind::unaudited: return look_for_auditors(fx, item.id, item.run);
    }
}

/// Returns the task of an item; nullopt for a challenge of a solver's capability, and for a reservation.
std::optional<std::uint64_t> task_of(const StateView& view, const ScheduledItem& item) {
    switch (item.kind) {
        case ScheduledKind::audit_deadline:
        case ScheduledKind::redraw: return must_load<market::Audit>(view, keys::audit(item.id)).task;
        case ScheduledKind::dispute_clock: return must_load<market::Dispute>(view, keys::dispute(item.id)).task;
        case ScheduledKind::report_deadline: return must_load<market::Report>(view, keys::report(item.id)).task;
        case ScheduledKind::reservation:
        case ScheduledKind::challenge: return std::nullopt;
        default: return item.id;
    }
}

/// 8.4: handles an item. If it breaks an invariant, its effects are undone and its task is frozen. Items of a frozen
/// task are skipped, except its release.
void handle_isolated(Effects& fx, const ScheduledItem& item, const BrokenInvariantHandler& on_broken) {
    std::optional<std::uint64_t> task;
    const bool done = isolate(fx, on_broken, [&](Effects& inner) {
        task = task_of(inner.state, item);
        if (task && item.kind != ScheduledKind::release && is_frozen(inner.state, *task)) return;
        handle(inner, item);
    });
    if (!done && task) isolate(fx, on_broken, [&](Effects& inner) { freeze_task(inner, *task); });
}

/// The first item that is not handled yet.
struct Cursor {
    std::uint64_t height = 0;
    std::uint64_t index = 0;
    static auto tie(auto& c) { return std::tie(c.height, c.index); }
};

/// Handles at most `most` items of the page at the cursor. The page does not grow meanwhile, because items are only
/// scheduled at future heights.
std::size_t handle_page(Effects& fx, Cursor& at, std::size_t most, const BrokenInvariantHandler& on_broken) {
    const keys::Key key = keys::due_page(at.height, at.index / kDuePage);
    const auto page = must_load<ListOf<ScheduledItem>>(fx.state, key).items;
    const std::size_t from = at.index % kDuePage;
    const std::size_t end = std::min(page.size(), from + most);
    for (std::size_t i = from; i < end; ++i) handle_isolated(fx, page[i], on_broken);
    at.index += end - from;
    if (end == page.size()) remove(fx.state, key);
    return end - from;
}

}  // namespace

void run_scheduler(Effects& fx, const BrokenInvariantHandler& on_broken) {
    MemberCache cache;  // From here on only isolated work changes records of members.
    fx.members = &cache;
    const auto late = load<Cursor>(fx.state, keys::due_cursor());
    Cursor at = late.value_or(Cursor{fx.height, 0});
    isolate(fx, on_broken, [&](Effects& inner) { mix_if_due(inner, at.height); });
    for (std::size_t left = kDueMax; left > 0 && at.height <= fx.height;) {
        const std::uint64_t count = counter(fx.state, keys::due_count(at.height));
        if (at.index < count) {
            left -= handle_page(fx, at, left, on_broken);
            continue;
        }
        if (count != 0) remove(fx.state, keys::due_count(at.height));
        at = {at.height + 1, 0};
        --left;  // Bounds the number of empty heights that are passed, too.
    }
    if (at.height <= fx.height)
        store(fx.state, keys::due_cursor(), at);
    else if (late)
        remove(fx.state, keys::due_cursor());
    draw_queued(fx, on_broken);
    // 11.8: after the draws. Otherwise a party that sees the beacon could decide, by changing its stake, which members
    // are left to be drawn.
    isolate(fx, on_broken, [](Effects& inner) { admit_candidates(inner); });
    fx.members = nullptr;
}

std::vector<std::uint64_t> ending_auctions(const StateView& view, std::uint64_t height) {
    std::vector<std::uint64_t> out;
    const std::uint64_t count = counter(view, keys::due_count(height));
    for (std::uint64_t page = 0; page * kDuePage < count; ++page) {
        const auto items = load<ListOf<ScheduledItem>>(view, keys::due_page(height, page));
        if (!items) continue;
        for (const ScheduledItem& item : items->items) {
            if (item.kind != ScheduledKind::auction_close) continue;
            const auto task = views::task(view, item.id);
            if (task && task->round == item.run && task->reveal_end == height) out.push_back(item.id);
        }
    }
    return out;
}

}  // namespace retrace::contracts
