// SPDX-License-Identifier: MIT
// SPEC 14.13. A run's audited segments are numbered as they are drawn, which is in their order. So the number of a
// segment, less the number of those that are finalised, tells how many audits up to it are at risk, and the first of
// them is always covered: nothing waits for ever.
#include "contracts/lifecycle/audits/fees_at_risk.hpp"

#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/odds.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

/// Whether the audit waits for auditors. An audit in the list may have been drawn past the queue, or be closed.
bool waits_for_seats(const market::Audit& audit) {
    return audit.phase == AuditPhase::drawing &&
           std::none_of(audit.seats.begin(), audit.seats.end(),
                        [](const market::Seat& seat) { return seat.state == market::SeatState::committed; });
}

}  // namespace

void count_audited(Effects& fx, const market::Run& run, std::uint64_t segment) {
    const keys::Key key = keys::audited_segments(run.task, run.index);
    const std::uint64_t before = counter(fx.state, key);
    store(fx.state, keys::audited_before(run.task, run.index, segment), Counter{before});
    store(fx.state, key, Counter{before + 1});
}

bool is_counted(const StateView& view, const market::Audit& audit) {
    return load<Counter>(view, keys::audited_before(audit.task, audit.run, audit.segment)).has_value();
}

void count_finalised_audit(Effects& fx, const market::Run& run, std::uint64_t segment) {
    if (!load<Counter>(fx.state, keys::audited_before(run.task, run.index, segment)))
        return;  // It has no number (21.8).
    const keys::Key key = keys::finalised_audits(run.task, run.index);
    store(fx.state, key, Counter{counter(fx.state, key) + 1});
    remove(fx.state, keys::audited_before(run.task, run.index, segment));
}

bool are_fees_covered(const Effects& fx, const market::Audit& audit) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
    const auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    // Nothing before the segment is left to be finalised, whatever audits of later segments were counted before its own.
    if (audit.segment <= run.finalised) return true;
    const std::uint64_t before = counter(fx.state, keys::audited_before(audit.task, audit.run, audit.segment));
    const std::uint64_t finalised = counter(fx.state, keys::finalised_audits(audit.task, audit.run));
    if (before <= finalised) return true;
    const U256 at_risk = run.locked - ledger::min(run.locked, views::rollback_stake(fx.state, audit.task));
    return before - finalised < market::audits_covered(fx.params, spec, at_risk);
}

void hold_audit(Effects& fx, const market::Audit& audit) {
    add_to_list(fx.state, keys::held_audits(audit.task, audit.run), audit.segment);
    wake_openings(fx, audit.task, audit.run, audit.segment + 1);  // Others may wait for it already.
}

bool is_held(const StateView& view, const market::Audit& audit) {
    if (!waits_for_seats(audit)) return false;
    const auto held = list<std::uint64_t>(view, keys::held_audits(audit.task, audit.run));
    return std::binary_search(held.begin(), held.end(), audit.segment);
}

void release_held_audits(Effects& fx, std::uint64_t task, std::uint32_t run) {
    for (const std::uint64_t index : list<std::uint64_t>(fx.state, keys::held_audits(task, run))) {
        const auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run, index));
        const auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
        const bool waits = waits_for_seats(audit);
        if (waits && !are_fees_covered(fx, audit)) return;  // Later segments have more audits before them.
        remove_from_list(fx.state, keys::held_audits(task, run), index);
        if (waits) queue_audit(fx, audit);
    }
}

}  // namespace retrace::contracts
