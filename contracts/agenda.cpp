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

void checkpoint_deadline(Effects& fx, std::uint64_t task, std::uint32_t index, std::uint64_t state) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::running || run.next_state != state) return;
    if (run.deadline == 0 || fx.height <= run.deadline) return;  // 13.8.6: none is due, or it moved
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

void handle(Effects& fx, const DueItem& item) {
    switch (item.kind) {
        case DueKind::auction_close: return close_auction(fx, item.id, item.run);
        case DueKind::accept_deadline: return accept_deadline(fx, item.id, item.run);
        case DueKind::checkpoint_deadline: return checkpoint_deadline(fx, item.id, item.run, item.index);
        case DueKind::draw: return draw_segment(fx, item.id, item.run, item.index);
        case DueKind::audit_deadline: return audit_deadline(fx, item.id, item.index);
        case DueKind::redraw: return draw_auditors_of(fx, item.id);
        case DueKind::open_deadline: return open_deadline(fx, item.id, item.run, item.index);
        case DueKind::payment: return advance_payments(fx, item.id, item.run);
        case DueKind::dispute_clock: return dispute_clock(fx, item.id, item.index);
        case DueKind::deliver_deadline: return deliver_deadline(fx, item.id);
        case DueKind::report_deadline: return report_deadline(fx, item.id);
        case DueKind::wake: return wake_after(fx, item.id, item.index);
        case DueKind::challenge: return challenge_due(fx, item.id);
    }
}

}  // namespace

void run_agenda(Effects& fx) {
    mix_if_due(fx);
    const auto due = list<DueItem>(fx.state, keys::due(fx.height));
    remove(fx.state, keys::due(fx.height));
    for (const DueItem& item : due) handle(fx, item);
    draw_queued(fx);
}

}  // namespace retrace::contracts
