// SPDX-License-Identifier: MIT
// What the beacon decides about a segment. SPEC 14.1 and 14.2.
#include "contracts/audits/rounds.hpp"
#include "contracts/audits/seats.hpp"
#include "contracts/market/runs.hpp"
#include "contracts/staking/beacon.hpp"
#include "market/draw.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SegmentState;

bool is_audited(const Effects& fx, const market::Run& run, const market::Segment& segment, std::uint64_t index) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    if (segment.audits != 0) return true;                                            // another round
    if (index == run.first_state || index + 1 == spec.segments()) return true;       // 14.1: always
    const auto reveals = list<market::Reveal>(fx.state, keys::reveals());
    return market::is_drawn(reveals, run.task, run.index, index, spec.audit_bp);
}

/// False when no verifier can be drawn.
bool begin_audit(Effects& fx, const market::Run& run, market::Segment& segment, std::uint64_t index) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    market::Audit audit;
    audit.id = views::audit_count(fx.state) + 1;
    audit.task = run.task;
    audit.run = run.index;
    audit.segment = index;
    if (fill_seats(fx, audit, spec.auditors, segment.draw_epoch) == 0) return false;
    next_id(fx.state, keys::audit_count());
    add_to_list(fx.state, keys::run_audits(run.task, run.index), audit.id);
    segment.state = SegmentState::auditing;
    segment.audit = audit.id;
    ++segment.audits;
    store(fx.state, keys::segment(run.task, run.index, index), segment);
    const auto start = must_load<market::Checkpoint>(fx.state, keys::checkpoint(run.task, run.index, index));
    if (start.opened) {
        enter_collecting(fx, audit);
    } else {
        set_phase(fx, audit, AuditPhase::waiting, 0);
        wake_openings(fx, run.task, index);
    }
    return true;
}

}  // namespace

void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run_index, std::uint64_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, run_index));
    if (run.state != market::RunState::running) return;
    auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run_index, index));
    if (segment.state != SegmentState::waiting_draw) return;
    bool audited = is_audited(fx, run, segment, index);
    if (audited && !begin_audit(fx, run, segment, index)) {
        if (segment.postponed < fx.params.redraws) {  // 14.2: perhaps the next beacon finds somebody
            ++segment.postponed;
            segment.draw_epoch = views::epoch_of(fx.params, fx.height) + 1;
            store(fx.state, keys::segment(task, run_index, index), segment);
            return schedule(fx, next_draw_height(fx.params, fx.height), {DueKind::draw, task, run_index, index});
        }
        audited = false;
    }
    fx.emit(SegmentDrawn{task, run_index, index, audited});
    if (!audited) {
        segment.state = SegmentState::unaudited;
        store(fx.state, keys::segment(task, run_index, index), segment);
        wake_openings(fx, task, index);
        wake_openings(fx, task, index + 1);
        advance_payments(fx, task, run_index);
    }
}

void redraw(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    if (audit.phase != AuditPhase::redrawing) return;
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
    const auto serving = static_cast<std::size_t>(
        std::count_if(audit.seats.begin(), audit.seats.end(),
                      [](const market::Seat& seat) { return seat.state == market::SeatState::committed; }));
    const std::uint64_t epoch = views::epoch_of(fx.params, fx.height);
    if (fill_seats(fx, audit, spec.auditors - serving, epoch - 1) != 0) enter_collecting(fx, audit);
    else go_on_without_silent(fx, audit);
}

}  // namespace retrace::contracts
