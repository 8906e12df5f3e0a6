// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/isolate.hpp"

#include "contracts/lifecycle/audits/members.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "merkle/base/non_fatal.hpp"

namespace retrace::contracts {
namespace {

/// Runs `work`. Returns the broken invariant, if any.
std::optional<std::string> attempt(const StateView& before, Effects& fx, const std::function<void(Effects&)>& work) {
    try {
        const NonFatalScope scope;
        work(fx);
        return broken_invariant(before, fx.state);
    } catch (const BrokenInvariant& broken) {
        return broken.what();
    }
}

}  // namespace

bool isolate(Effects& fx, const BrokenInvariantHandler& on_broken, const std::function<void(Effects&)>& work) {
    ledger::State overlay = ledger::State::over(fx.state);
    Effects inner{overlay, fx.params, fx.height, {}, fx.members};
    if (const auto broken = attempt(fx.state, inner, work)) {
        if (on_broken) on_broken(*broken);
        return false;
    }
    const ledger::StateDiff diff = overlay.diff();
    fx.state.apply(diff);
    if (fx.members != nullptr) fx.members->forget(diff);
    fx.logs.insert(fx.logs.end(), std::make_move_iterator(inner.logs.begin()),
                   std::make_move_iterator(inner.logs.end()));
    return true;
}

bool is_frozen(const StateView& view, std::uint64_t id) {
    const auto task = views::task(view, id);
    return task && task->state == market::TaskState::frozen;
}

void freeze_task(Effects& fx, std::uint64_t id) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (market::is_final(task.state)) return;
    // 8.5: a failed release is retried after the same delay.
    if (task.state != market::TaskState::frozen) {
        move_task(fx, task, market::TaskEvent::freeze);
        forget_matched(fx, id);  // 13.6: nobody can attest from now on.
    }
    schedule(fx, fx.height + fx.params.unbond_blocks, {ScheduledKind::release, id, 0, 0});
}

void release_task(Effects& fx, std::uint64_t id) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (task.state != market::TaskState::frozen) return;
    if (!task.active.empty()) {
        release_run(fx, id, task.active.front());
        return schedule(fx, fx.height + 1, {ScheduledKind::release, id, 0, 0});
    }
    return_bids(fx, task, true);
    store(fx.state, keys::task(id), task);
    pay_matched(fx, id);
    task = must_load<market::Task>(fx.state, keys::task(id));
    task.wanted = 0;
    move_task(fx, task, market::TaskEvent::release);
    end_task(fx, task);
    end_round_of_ended_group(fx, id);  // 21.6.8: the clock's item was skipped.
}

}  // namespace retrace::contracts
