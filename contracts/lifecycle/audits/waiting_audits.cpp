// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/audits/waiting_audits.hpp"

#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

constexpr std::size_t kAtOnceMax = 16;  // audits per item; the next block continues

std::vector<std::uint64_t> waiting(const Effects& fx, std::uint64_t task, std::uint32_t run) {
    return list<std::uint64_t>(fx.state, keys::waiting_audits(task, run));
}

/// 14.12.4: the waiting segments that the requester has decided to pay for.
std::vector<std::uint64_t> paid_for(const Effects& fx, std::uint64_t task, std::uint32_t run) {
    return list<std::uint64_t>(fx.state, keys::paid_audits(task, run));
}

bool is_paid_for(const Effects& fx, const market::Audit& audit) {
    const auto paid = paid_for(fx, audit.task, audit.run);
    return std::binary_search(paid.begin(), paid.end(), audit.segment);
}

/// 14.12.14: whether the audit is drawn no more, because its auditors had verdicts in the last round.
bool had_all_rounds(const Effects& fx, const market::Audit& audit) {
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(audit.task, audit.run, audit.segment));
    return segment.audits > fx.params.redraws &&
           std::any_of(audit.seats.begin(), audit.seats.end(),
                       [](const market::Seat& seat) { return !seat.commitment.is_zero(); });
}

/// Returns the audits of `segments` that have no auditors, at most `most`.
std::vector<market::Audit> without_auditors(const Effects& fx, std::uint64_t task, std::uint32_t run,
                                            const std::vector<std::uint64_t>& segments, std::size_t most) {
    std::vector<market::Audit> out;
    for (const std::uint64_t index : segments) {
        const auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run, index));
        auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
        if (audit.phase == AuditPhase::no_auditors) out.push_back(std::move(audit));
        if (out.size() == most) break;
    }
    return out;
}

/// 21.8.11: whether the audit was decided on because of a contradiction that there is no more. Such audits have no number
/// among those whose fees are at risk (21.8.9).
bool is_settled_otherwise(const Effects& fx, const market::Audit& audit) {
    if (!views::is_group(fx.state, audit.task) || is_counted(fx.state, audit)) return false;
    const auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    return !is_contradicted(fx.state, run, audit.segment);
}

void look_again(Effects& fx, const market::Run& run) {
    const std::uint64_t silence = run.unaudited_since + 2 * fx.params.unaudited_blocks + 1;
    const std::uint64_t beacon = next_draw_height(fx.params, fx.height);
    schedule_single(fx, silence > fx.height ? std::min(silence, beacon) : beacon, ScheduledKind::unaudited, run.task,
                    run.index);
}

/// Whether an audit of the run reveals only after an audit of a replica that ends by itself.
bool reveal_will_come(const Effects& fx, const market::Run& run) {
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_audits(run.task, run.index))) {
        const auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
        const bool waits = audit.phase == AuditPhase::revealing && audit.deadline == 0;
        if (waits && waits_for_moving_audit(fx, audit)) return true;
    }
    return false;
}

/// States that the run withheld beyond segment `from` may be opened from the next block on. Audits close in order of
/// segment, so the first of a block wakes for all of them.
void wake_withheld(Effects& fx, const market::Run& run, std::uint64_t from) {
    const keys::Key key = keys::woken(run.task, run.index);
    if (counter(fx.state, key) == fx.height) return;
    store(fx.state, key, Counter{fx.height});
    schedule(fx, fx.height + 1, {ScheduledKind::wake, run.task, run.index, from});
}

bool may_end(const Effects& fx, const market::Run& run) {
    // Audits of two replicas may wait for each other; after `unbond_blocks` they are ignored. Audits that end by
    // themselves are waited for.
    const bool late = waited_too_long(fx.params, run, fx.height);
    if (run.open_disputes != 0 || disputes_replica(fx.state, run)) return false;
    if (payments_lag(fx.state, fx.params, run, fx.height)) return false;
    if (!late && views::pending_draws(fx.state, run.task, run.index) != 0) return false;
    if (views::due_audits(fx.state, run.task, run.index) != 0) return false;
    if (views::due_openings(fx.state, run.task, run.index) != 0) return false;
    if (holds_shares(fx.state, run.task, run.index)) return false;
    if (!late && holds_windows(fx.state, fx.params, run, fx.height)) return false;
    return views::seated_audits(fx.state, run.task, run.index) == 0 || (late && !reveal_will_come(fx, run));
}

/// 14.12.4: closes up to kAtOnceMax audits that the requester pays for. Returns whether the next block continues. Those
/// that have auditors for now are closed when they would wait again.
bool close_paid(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const auto audits = without_auditors(fx, task, run, paid_for(fx, task, run), kAtOnceMax);
    for (const market::Audit& waits : audits) {
        // Reloaded: openings caused by the previous audit may have ended the run.
        auto audit = must_load<market::Audit>(fx.state, keys::audit(waits.id));
        if (audit.phase == AuditPhase::no_auditors) close_without_verdict(fx, audit);
    }
    if (!audits.empty()) schedule_single(fx, fx.height + 1, ScheduledKind::unaudited, task, run);
    return !audits.empty();
}

/// 14.12.3: no checkpoint is due during the wait. 13.5.1: one that is late already stays missed.
void suspend_deadline(Effects& fx, market::Run& run) {
    if (checkpoint_is_late(fx, run)) {
        count_work(fx, run);
        note_missed_checkpoint(fx, run);
    } else {
        run.deadline = 0;
    }
}

}  // namespace

bool waited_too_long(const market::Params& params, const market::Run& run, std::uint64_t height) {
    return height > run.unaudited_since + 2 * params.unaudited_blocks + params.unbond_blocks;
}

void wait_for_auditors(Effects& fx, market::Audit& audit) {
    settle_silence(fx, audit);
    // 14.12.1: silent auditors may be drawn again by the next beacon. If the audit is not drawn again, its auditors
    // stay recorded (15.2.5).
    if (!had_all_rounds(fx, audit)) clear_seats(fx, audit);
    set_phase(fx, audit, AuditPhase::no_auditors, 0);
    add_to_list(fx.state, keys::waiting_audits(audit.task, audit.run), audit.segment);
    auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    if (run.unaudited_since == 0) run.unaudited_since = fx.height;
    wake_members(fx, audit.task);
    run.unaudited_from = waiting(fx, audit.task, audit.run).front();
    suspend_deadline(fx, run);
    store(fx.state, keys::run(audit.task, audit.run), run);
    if (is_paid_for(fx, audit))
        schedule_single(fx, fx.height + 1, ScheduledKind::unaudited, audit.task, audit.run);
    else
        look_again(fx, run);
}

void end_wait_for_auditors(Effects& fx, const market::Audit& audit) {
    auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    if (run.unaudited_since == 0) return;
    const auto before = waiting(fx, audit.task, audit.run);
    if (!std::binary_search(before.begin(), before.end(), audit.segment)) return;
    remove_from_list(fx.state, keys::waiting_audits(audit.task, audit.run), audit.segment);
    if (is_paid_for(fx, audit)) {
        remove_from_list(fx.state, keys::paid_audits(audit.task, audit.run), audit.segment);
        run.pays_unaudited = !paid_for(fx, audit.task, audit.run).empty();
    }
    const auto after = waiting(fx, audit.task, audit.run);
    run.finish_height += fx.height - run.unaudited_since;
    run.unaudited_since = after.empty() ? 0 : fx.height;
    const std::uint64_t from = run.unaudited_from;
    run.unaudited_from = after.empty() ? 0 : after.front();
    store(fx.state, keys::run(audit.task, audit.run), run);
    if (run.state != market::RunState::running) return;
    if (after.empty()) start_checkpoint_deadline(fx, run);
    if (after.empty() || run.unaudited_from != from) wake_withheld(fx, run, from);
}

void look_for_auditors(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::running || run.unaudited_since == 0) return;
    if (close_paid(fx, task, index)) return;
    const bool nobody_decided = !run.pays_unaudited && fx.height > run.unaudited_since + 2 * fx.params.unaudited_blocks;
    if (nobody_decided && may_end(fx, run)) return end_unpaid(fx, task, index);
    const auto audits = without_auditors(fx, task, index, waiting(fx, task, index), kAtOnceMax);
    // 14.12.13: closes an audit whose segment was audited in a replica meanwhile.
    for (const market::Audit& waits : audits) {
        if (!is_audited_in_replica(fx, waits) && !is_settled_otherwise(fx, waits)) continue;
        auto audit = must_load<market::Audit>(fx.state, keys::audit(waits.id));
        close_without_verdict(fx, audit);
        return schedule_single(fx, fx.height + 1, ScheduledKind::unaudited, task, index);
    }
    // Audits that are drawn again have no auditors and belong to one task, so checking one is enough.
    const auto first = std::find_if_not(audits.begin(), audits.end(),
                                        [&](const market::Audit& waits) { return had_all_rounds(fx, waits); });
    // Auditors that are silent again and again must not hold the run: once it should end, no audit is drawn any more.
    if (!nobody_decided && first != audits.end() && enough_members(fx, *first)) {
        for (const market::Audit& waits : audits) {
            // Reloaded: the draw for the previous audit may have ended the run.
            auto audit = must_load<market::Audit>(fx.state, keys::audit(waits.id));
            if (audit.phase != AuditPhase::no_auditors || had_all_rounds(fx, audit)) continue;
            note_members(fx, audit);
            enter_drawing(fx, audit);
        }
        const bool moved = !had_all_rounds(fx, audits.back());
        if (audits.size() == kAtOnceMax && moved)
            return schedule_single(fx, fx.height + 1, ScheduledKind::unaudited, task, index);
    }
    look_again(fx, run);
}

bool all_paid_for(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return list<std::uint64_t>(view, keys::paid_audits(task, run)) ==
           list<std::uint64_t>(view, keys::waiting_audits(task, run));
}

void pay_for_unaudited(Effects& fx, std::uint64_t task, std::uint32_t index) {
    auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    fx.emit(UnauditedDecided{task, index, run.unaudited_from, true});
    run.pays_unaudited = true;
    store(fx.state, keys::run(task, index), run);
    store_list(fx.state, keys::paid_audits(task, index), waiting(fx, task, index));  // Later ones are not decided on.
    // The consequences are left to the scheduler; the call does not compute them.
    schedule_single(fx, fx.height + 1, ScheduledKind::unaudited, task, index);
}

void end_unpaid(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    fx.emit(UnauditedDecided{task, index, run.unaudited_from, false});
    end_waiting_run(fx, task, index);
}

}  // namespace retrace::contracts
