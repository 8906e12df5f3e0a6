// SPDX-License-Identifier: MIT
#include "contracts/agenda.hpp"

#include "contracts/audits/reports.hpp"
#include "contracts/audits/rounds.hpp"
#include "contracts/disputes/cases.hpp"
#include "contracts/market/runs.hpp"
#include "contracts/market/tasks.hpp"
#include "contracts/staking/beacon.hpp"
#include "contracts/staking/capability.hpp"

namespace retrace::contracts {
namespace {

void accept_deadline(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    // The deadline may have moved since this was written.
    if (run.state == market::RunState::assigned && fx.height > run.deadline) leave_run(fx, task, index, true);
}

void checkpoint_deadline(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::running || run.deadline == 0) return;  // 13.8.6: none is due
    if (fx.height <= run.deadline)  // It has committed since, or the deadline moved.
        return remind(fx, run.deadline + 1, DueKind::checkpoint_deadline, task, index);
    lose_silent_run(fx, task, index, SlashReason::not_checkpointed);
}

void open_deadline(Effects& fx, std::uint64_t task, std::uint32_t index, std::uint64_t state) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    const auto checkpoint = must_load<market::Checkpoint>(fx.state, keys::checkpoint(task, index, state));
    if (run.state == market::RunState::running && !checkpoint.opened)
        lose_silent_run(fx, task, index, SlashReason::not_opened);
}

void deliver_deadline(Effects& fx, std::uint64_t id) {
    if (must_load<market::Task>(fx.state, keys::task(id)).state == market::TaskState::delivering)
        settle_task(fx, id);
}

/// Kinds of which one reminder is enough (SPEC 9.3).
bool is_single(DueKind kind) {
    return kind == DueKind::checkpoint_deadline || kind == DueKind::payment || kind == DueKind::dispute_clock;
}

void handle(Effects& fx, const DueItem& item) {
    if (is_single(item.kind) && !use_reminder(fx, item)) return;
    switch (item.kind) {
        case DueKind::auction_close: return close_auction(fx, item.id, item.run);
        case DueKind::accept_deadline: return accept_deadline(fx, item.id, item.run);
        case DueKind::checkpoint_deadline: return checkpoint_deadline(fx, item.id, item.run);
        case DueKind::draw: return draw_segment(fx, item.id, item.run, item.index);
        case DueKind::audit_deadline: return audit_deadline(fx, item.id, item.index);
        case DueKind::redraw: return draw_auditors_of(fx, item.id);
        case DueKind::open_deadline: return open_deadline(fx, item.id, item.run, item.index);
        case DueKind::payment: return advance_payments(fx, item.id, item.run);
        case DueKind::dispute_clock: return dispute_clock(fx, item.id);
        case DueKind::deliver_deadline: return deliver_deadline(fx, item.id);
        case DueKind::report_deadline: return report_deadline(fx, item.id);
        case DueKind::wake: return wake_after(fx, item.id, item.index);
        case DueKind::challenge: return challenge_due(fx, item.id);
    }
}

/// The first item that is not handled yet.
struct Cursor {
    std::uint64_t height = 0;
    std::uint64_t index = 0;
    static auto tie(auto& c) { return std::tie(c.height, c.index); }
};

/// Handles at most `most` items of the page that the cursor is on. Nothing is added to it meanwhile: only to what is
/// in the future.
std::size_t handle_page(Effects& fx, Cursor& at, std::size_t most) {
    const keys::Key key = keys::due_page(at.height, at.index / kDuePage);
    const auto page = must_load<ListOf<DueItem>>(fx.state, key).items;
    const std::size_t from = at.index % kDuePage;
    const std::size_t end = std::min(page.size(), from + most);
    for (std::size_t i = from; i < end; ++i) handle(fx, page[i]);
    at.index += end - from;
    if (end == page.size()) remove(fx.state, key);
    return end - from;
}

}  // namespace

void run_agenda(Effects& fx) {
    mix_if_due(fx);
    const auto late = load<Cursor>(fx.state, keys::due_cursor());
    Cursor at = late.value_or(Cursor{fx.height, 0});
    for (std::size_t left = kDueMax; left > 0 && at.height <= fx.height;) {
        const std::uint64_t count = counter(fx.state, keys::due_count(at.height));
        if (at.index < count) {
            left -= handle_page(fx, at, left);
            continue;
        }
        if (count != 0) remove(fx.state, keys::due_count(at.height));
        at = {at.height + 1, 0};
        --left;  // So that passing heights at which nothing was due is bounded too.
    }
    if (at.height <= fx.height) store(fx.state, keys::due_cursor(), at);
    else if (late) remove(fx.state, keys::due_cursor());
    draw_queued(fx);
}

}  // namespace retrace::contracts
