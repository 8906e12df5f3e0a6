// SPDX-License-Identifier: MIT
// The auditors are drawn later: auditor_draw.cpp.
#include "contracts/lifecycle/audits/segment_draw.hpp"

#include "contracts/lifecycle/audits/auditor_draw.hpp"
#include "contracts/lifecycle/audits/fees_at_risk.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/draw.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;
using market::SegmentState;

/// 21.8: whether the draw is due because of a contradiction. The end of a segment is open then, and at no other first
/// draw.
bool draws_for_group(const Effects& fx, const market::Run& run, const market::Segment& segment, std::uint64_t index) {
    if (segment.audits != 0 || !views::is_group(fx.state, run.task)) return false;
    return must_load<market::Checkpoint>(fx.state, keys::checkpoint(run.task, run.index, index + 1)).opened;
}

bool is_audited(const Effects& fx, const market::Run& run, const market::Segment& segment, std::uint64_t index) {
    if (draws_for_group(fx, run, segment, index)) return is_contradicted(fx.state, run, index);
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    if (segment.audits != 0) return true;  // another round
    // 21.13.6: nobody else has its data.
    if (views::is_private(fx.state, run.task, run.index, index) &&
        views::auditors_of_data(fx.state, run.task, run.index, index).empty())
        return false;
    if (index == run.first_state) return true;                                         // 14.1: always
    if (index == views::segment_of_start(fx.state, run.task, run.index)) return true;  // 21.13.31
    if (index + 2 == run.next_state && views::is_given_back(fx.state, run.task, run.index)) return true;
    const auto terms = views::group_spec(fx.state, run.task);
    if (terms ? views::member_segment(fx.state, run.task, run.index, index)->base == terms->rounds
              : index + 1 == spec.segments())
        return true;
    const std::uint64_t due = (segment.draw_epoch + 1) * fx.params.epoch_blocks;
    // 21.20.8: as likely as one of as many messages of members would be.
    const std::uint64_t share =
        spec.audit_bp * std::uint64_t{views::messages_moved(fx.state, run.task, run.index, index)};
    return market::is_drawn(mixed_before(fx, due).reveals, run.task, run.index, index,
                            static_cast<std::uint16_t>(std::min(share, market::kBasisPoints)));
}

void begin_audit(Effects& fx, const market::Run& run, market::Segment& segment, std::uint64_t index) {
    market::Audit audit;
    audit.id = next_id(fx.state, keys::audit_count());
    audit.task = run.task;
    audit.run = run.index;
    audit.segment = index;
    // 14.12.1: members that leave after this cannot undo the draw.
    if (enough_members(fx, audit)) note_members(fx, audit);
    add_to_list(fx.state, keys::run_audits(run.task, run.index), audit.id);
    // One for a contradiction is the first of its run to be finalised, and so waits for no fees.
    // 21.13.8: nor does one of private data, which has no fees.
    if (segment.audits == 0 && !draws_for_group(fx, run, segment, index) &&
        !views::is_private(fx.state, run.task, run.index, index))
        count_audited(fx, run, index);
    segment.state = SegmentState::auditing;
    segment.audit = audit.id;
    ++segment.audits;
    store(fx.state, keys::segment(run.task, run.index, index), segment);
    const std::uint64_t from = views::start_of_segment(fx.state, run.task, run.index, index);
    const auto start = must_load<market::Checkpoint>(fx.state, keys::checkpoint(run.task, run.index, from));
    const bool shown = views::shows_masks(fx.state, run.task, run.index, index);  // 21.11.33
    if (start.opened) return shown ? enter_drawing(fx, audit) : enter_opening(fx, audit);
    set_phase(fx, audit, AuditPhase::waiting, 0);
    wake_openings(fx, run.task, run.index, from);
}

}  // namespace

void await_draw(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index, market::Segment& segment) {
    segment.state = SegmentState::waiting_draw;
    segment.draw_epoch = views::epoch_of(fx.params, fx.height) + 1;
    store(fx.state, keys::segment(task, run, index), segment);
    const keys::Key pending = keys::pending_draws(task, run);
    store(fx.state, pending, Counter{counter(fx.state, pending) + 1});
    schedule(fx, next_draw_height(fx.params, fx.height), {ScheduledKind::draw, task, run, index});
}

void await_audit(Effects& fx, const market::Run& run, std::uint64_t index) {
    auto segment = must_load<market::Segment>(fx.state, keys::segment(run.task, run.index, index));
    await_draw(fx, run.task, run.index, index, segment);
}

void draw_segment(Effects& fx, std::uint64_t task, std::uint32_t run_index, std::uint64_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, run_index));
    if (run.state != market::RunState::running) return;
    auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run_index, index));
    if (segment.state != SegmentState::waiting_draw) return;
    const std::uint64_t pending = views::pending_draws(fx.state, task, run_index);
    store(fx.state, keys::pending_draws(task, run_index), Counter{pending - std::min<std::uint64_t>(pending, 1)});
    const bool audited = is_audited(fx, run, segment, index);
    fx.emit(SegmentDrawn{task, run_index, index, audited});
    if (audited) return begin_audit(fx, run, segment, index);
    segment.state = SegmentState::unaudited;
    store(fx.state, keys::segment(task, run_index, index), segment);
    wake_openings(fx, task, run_index, views::start_of_segment(fx.state, task, run_index, index));
    wake_openings(fx, task, run_index, index + 1);
    wake_members(fx, task);
    advance_payments(fx, task, run_index);
}

}  // namespace retrace::contracts
