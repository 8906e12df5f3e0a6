// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/members.hpp"

#include <algorithm>

#include "contracts/lifecycle/audits/segment_draw.hpp"
#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts {
namespace {

using market::SegmentState;

/// Openings with the same base, divided by their shared tensors.
struct Openings {
    std::vector<views::SharedOpening> alike;  ///< Those that agree with the segment in question, itself included.
    bool contradicted = false;
};
Openings openings_like(const StateView& view, const market::Run& run, std::uint64_t index,
                       const market::MemberSegment& segment) {
    const Hash32 mine = market::shared_digest(segment.shared);
    const auto convictions = list<ConvictedSegment>(view, keys::convictions(run.task));
    // What a convicted run opened after its proved lie must not have segments of others audited for ever.
    const auto is_forged = [&](const views::SharedOpening& opening) {
        return std::any_of(convictions.begin(), convictions.end(), [&](const ConvictedSegment& proved) {
            return proved.run == opening.run && proved.segment <= opening.segment;
        });
    };
    const bool rolled_back = !views::rollbacks(view, run.task).noted.empty();
    Openings out;
    for (const views::SharedOpening& opening : views::shared_openings(view, run.task, segment.base)) {
        if (is_forged(opening)) continue;
        if (rolled_back &&
            !views::read_alike(view, run.task, segment.base, {run.index, index}, {opening.run, opening.segment}))
            continue;  // 21.14.9
        if (opening.digest == mine)
            out.alike.push_back(opening);
        else
            out.contradicted = true;
    }
    return out;
}

/// 21.8: whether the shared tensors are found right: by an audit of the run's own segment, or because another member's
/// segment that ends in them is final. A match in another member's segment alone does not count: that member may have
/// started from a wrong state.
bool is_decided(const StateView& view, const market::Run& run, std::uint64_t index,
                const std::vector<views::SharedOpening>& alike) {
    return std::any_of(alike.begin(), alike.end(), [&](const views::SharedOpening& opening) {
        if (opening.run != run.index) return opening.segment < views::run(view, run.task, opening.run)->finalised;
        if (opening.segment != index) return false;
        const auto segment = views::segment(view, run.task, run.index, index);
        return segment->state == SegmentState::verified ||
               (segment->state == SegmentState::unaudited && segment->audits != 0);
    });
}

/// Whether auditors are drawn for the segment, or will be. Nobody knows whether an audit that waits for auditors gets any.
bool is_audited(const StateView& view, const market::Segment& segment) {
    if (segment.state != SegmentState::auditing) return segment.state == SegmentState::waiting_draw;
    return must_load<market::Audit>(view, keys::audit(segment.audit)).phase != market::AuditPhase::no_auditors;
}

/// Whether one of the openings may soon be final: its segment is the next of its member to be finalised, and is audited.
bool is_being_decided(const StateView& view, std::uint64_t task, const std::vector<views::SharedOpening>& alike) {
    return std::any_of(alike.begin(), alike.end(), [&](const views::SharedOpening& opening) {
        const auto other = views::run(view, task, opening.run);
        if (market::is_over(other->state) || opening.segment != other->finalised) return false;
        const auto segment = views::segment(view, task, opening.run, opening.segment);
        return segment && segment->open_disputes == 0 &&
               (segment->state == SegmentState::verified || is_audited(view, *segment));
    });
}

/// What a member takes in from one base up to another one.
struct Taken {
    std::vector<std::uint32_t> counts, masks;  ///< Messages of each record, and masks of their sum.
    std::uint64_t messages = 0;                ///< All of both.
    std::optional<std::uint64_t> omitted;      ///< The record in which its last message should be and is not.
};
Taken take_in(const StateView& view, std::uint64_t task, std::uint32_t run, const kernels::SegmentSpan& span) {
    Taken out;
    const auto last_message = views::start_of_member(view, task, run).last_message;
    const auto now = static_cast<std::uint8_t>(views::rollbacks(view, task).noted.size());
    for (auto index = static_cast<std::uint32_t>(span.from); index < span.base; ++index) {
        const market::Round record = views::record_read(view, task, run, index, now, span).value();
        out.counts.push_back(static_cast<std::uint32_t>(record.entries.size()));
        out.masks.push_back(static_cast<std::uint32_t>(record.masks.size()));
        out.messages += record.entries.size() + record.masks.size();
        if (views::is_omitted(view, task, last_message, views::round_at(view, task, index, now).value(), run))
            out.omitted = index;
    }
    return out;
}

market::Group group_of(const StateView& view, std::uint64_t task) {
    return must_load<market::Group>(view, keys::group(task));
}

/// 21.11.32: the masks over a message of the open round, its sender's own and one with each other dealer.
std::uint32_t masks_of_message(const StateView& view, std::uint64_t task) {
    const auto masks = views::round_masks(view, task, group_of(view, task).round);
    return masks ? static_cast<std::uint32_t>(masks->dealt.size()) : 0;
}

/// The height from which the state may be opened for what waits for it in the time of 21.10.21; nullopt: nothing does.
std::optional<std::uint64_t> asked_since(const Effects& fx, const market::GroupSpec& terms, std::uint64_t task,
                                         std::uint32_t run, std::uint64_t index) {
    std::uint64_t deadline = must_load<market::Checkpoint>(fx.state, keys::checkpoint(task, run, index)).open_deadline;
    for (const std::uint64_t from : views::segments_from(fx.state, task, run, index)) {
        const auto segment = views::segment(fx.state, task, run, from);
        const bool audited = segment && segment->state == SegmentState::auditing;
        const auto audit = audited ? views::audit(fx.state, segment->audit) : std::nullopt;
        if (!audit || audit->phase != market::AuditPhase::opening) continue;
        deadline = deadline == 0 ? audit->deadline : std::min(deadline, audit->deadline);
    }
    const std::uint64_t time = std::max(fx.params.open_blocks, absence_blocks(terms));
    return deadline == 0 ? std::nullopt : std::optional(deadline - std::min(deadline, time));
}

}  // namespace

std::uint32_t begin_of_segment(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint32_t base,
                               std::uint32_t steps) {
    const std::uint32_t from = views::taken_in_until(view, task, run);
    // 21.20.3: its last record is that of the messages that it merges.
    if (kernels::merges({from, base, steps, {}, 0, views::regions_of(view, task) != 0}))
        return std::min(from, base - 1);
    // Rounds that closed empty since its inner steps began.
    return steps == 0 || base < views::start_of_member(view, task, run).base ? from : std::min(from, base);
}

Result<market::MemberSegment, CallStatus> next_segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                       std::uint32_t base, std::uint32_t steps) {
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(task));
    const std::uint32_t from = begin_of_segment(view, task, run, base, steps);
    const std::uint32_t masks = steps == 0 ? 0 : masks_of_message(view, task);
    kernels::SegmentSpan span{from, base, steps, {}, masks, terms.regions != 0};
    const Taken taken = take_in(view, task, run, span);
    span.omitted = taken.omitted;
    if (taken.messages > terms.catch_up_max) return Unexpected{CallStatus::too_many_messages};  // 21.5.16
    // 21.5.17: a member that joined would otherwise make a segment, and its audit, of each record.
    if (steps == 0 && base < group_of(view, task).round && base - from < terms.keep_rounds) {
        const auto now = static_cast<std::uint8_t>(views::rollbacks(view, task).noted.size());
        const market::Round next = views::record_read(view, task, run, base, now, span).value();
        if (taken.messages + next.entries.size() + next.masks.size() <= terms.catch_up_max)
            return Unexpected{CallStatus::wrong_base};
    }
    const auto positions = kernels::SegmentPositions::make(span, taken.counts, terms.steps_max, taken.masks);
    if (!positions || positions->count() == 0) return Unexpected{CallStatus::wrong_base};  // 21.5.18
    market::MemberSegment out;
    out.from = from;
    out.base = base;
    out.steps = steps;
    if (taken.omitted) out.omitted = *taken.omitted;
    out.positions = positions->count();
    out.masks = masks;
    return out;
}

bool is_sender(const StateView& view, const market::Run& run) {
    if (run.state != market::RunState::running || run.next_state == 0) return false;
    return !must_load<market::Member>(view, keys::member(run.task, run.index)).leaving;
}

void begin_member(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint32_t base, std::vector<Hash32> anchor) {
    market::Member member;
    member.base = member.entered = base;
    member.anchor = std::move(anchor);
    store(fx.state, keys::member(task, run), member);
}

void note_first_state(Effects& fx, std::uint64_t task, std::uint32_t run) {
    auto group = group_of(fx.state, task);
    ++group.senders;
    store(fx.state, keys::group(task), group);
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(task));
    // 21.5.19: all of this would be read whenever it commits.
    const bool far_behind = group.round - views::member(fx.state, task, run)->base > terms.keep_rounds;
    const bool ended = group.phase == market::GroupPhase::over && fx.height > group.deadline;
    if (far_behind || ended) begin_leaving(fx, task, run, true);
    if (group.phase == market::GroupPhase::starting)
        schedule_single(fx, fx.height + 1, ScheduledKind::group_clock, task, 0);
}

void begin_leaving(Effects& fx, std::uint64_t task, std::uint32_t run, bool absent) {
    auto member = must_load<market::Member>(fx.state, keys::member(task, run));
    if (member.leaving) return;
    auto group = group_of(fx.state, task);
    if (is_sender(fx.state, must_load<market::Run>(fx.state, keys::run(task, run)))) --group.senders;
    member.leaving = true;
    store(fx.state, keys::member(task, run), member);
    store(fx.state, keys::group(task), group);
    drop_from_cohort(fx, group, run);
    fx.emit(MemberLeaves{task, run, group.round, absent});
    schedule_single(fx, fx.height + 1, ScheduledKind::payment, task, run);  // It may have nothing left to finalise.
    schedule_single(fx, fx.height + 1, ScheduledKind::group_clock, task, 0);
}

void note_member_gone(Effects& fx, const market::Run& run) {
    if (!views::is_group(fx.state, run.task) || !is_sender(fx.state, run)) return;
    auto group = group_of(fx.state, run.task);
    --group.senders;
    store(fx.state, keys::group(run.task), group);
    drop_from_cohort(fx, group, run.index);
}

void note_rounds_over(Effects& fx, std::uint64_t task, std::uint32_t run) {
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(task));
    auto member = must_load<market::Member>(fx.state, keys::member(task, run));
    // Without a segment it has no state that it could deliver.
    if (member.leaving || must_load<market::Run>(fx.state, keys::run(task, run)).next_state < 2) return;
    if (views::taken_in_until(fx.state, task, run) != terms.rounds) return;
    if (views::is_void(fx.state, task, run, views::run(fx.state, task, run)->next_state - 2)) return;  // 21.14.8
    member.base = terms.rounds;
    store(fx.state, keys::member(task, run), member);
}

void note_shared(Effects& fx, std::uint64_t task, const views::SharedOpening& opening, std::uint32_t base) {
    auto openings = views::shared_openings(fx.state, task, base);
    openings.push_back(opening);
    store(fx.state, keys::shared_openings(task, base), ListOf<views::SharedOpening>{std::move(openings)});
}

bool is_settled_in_group(const StateView& view, const market::Run& run, std::uint64_t segment) {
    const auto record = must_load<market::MemberSegment>(view, keys::member_segment(run.task, run.index, segment));
    // Whether the message was recorded decides on the pay.
    const std::uint32_t sent = record.base + record.age;
    // 21.20.6: with regions also whether its run then merges.
    const std::uint32_t known_with = sent + (kernels::is_merged_round(sent, views::regions_of(view, run.task)) ? 1 : 0);
    if (record.steps != 0 && known_with >= group_of(view, run.task).round) return false;
    // 21.13.5: its shared tensors are those of its start, which is settled before it.
    if (views::is_private(view, run.task, run.index, segment)) return true;
    const Openings openings = openings_like(view, run, segment, record);
    return !openings.contradicted || is_decided(view, run, segment, openings.alike);
}

void audit_contradiction(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    if (run.state != market::RunState::running) return;
    const auto segment = views::segment(fx.state, task, index, run.finalised);
    if (!segment || segment->state != SegmentState::unaudited) return;
    if (!is_contradicted(fx.state, run, run.finalised)) return;
    const auto record = must_load<market::MemberSegment>(fx.state, keys::member_segment(task, index, run.finalised));
    const Openings openings = openings_like(fx.state, run, run.finalised, record);
    if (!is_being_decided(fx.state, task, openings.alike)) await_audit(fx, run, run.finalised);
}

bool is_contradicted(const StateView& view, const market::Run& run, std::uint64_t segment) {
    const auto record = must_load<market::MemberSegment>(view, keys::member_segment(run.task, run.index, segment));
    if (record.shared.empty() || views::is_private(view, run.task, run.index, segment)) return false;
    const Openings openings = openings_like(view, run, segment, record);
    return openings.contradicted && !is_decided(view, run, segment, openings.alike);
}

void wake_members(Effects& fx, std::uint64_t task) {
    if (views::is_group(fx.state, task)) schedule_single(fx, fx.height + 1, ScheduledKind::payment, task, 0);
}

std::uint64_t absence_blocks(const market::GroupSpec& terms) {
    return terms.absence_limit * market::longest_round(terms);
}

std::uint64_t opening_deadline(const Effects& fx, std::uint64_t task) {
    const std::uint64_t plain = fx.height + fx.params.open_blocks;
    const auto terms = views::group_spec(fx.state, task);
    if (!terms) return plain;
    const bool over = group_of(fx.state, task).phase == market::GroupPhase::over;
    // In a group with rollbacks the time between the last record and the last phase is nobody's absence (21.14.3).
    const std::uint64_t from = !over ? fx.height
                               : terms->rollbacks != 0
                                   ? views::rollbacks(fx.state, task).opened
                                   : must_load<market::Round>(fx.state, keys::round(task, terms->rounds - 1)).height;
    return std::max(plain, from + absence_blocks(*terms));
}

void count_late_opening(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(task));
    const auto group = group_of(fx.state, task);
    if (terms.rollbacks == 0 || group.phase != market::GroupPhase::settling) return;
    const auto asked = asked_since(fx, terms, task, run, index);
    if (!asked) return;
    const std::uint64_t closed = must_load<market::Round>(fx.state, keys::round(task, group.round - 1)).height;
    const keys::Key counted = keys::late_openings(task, run);
    const std::uint64_t from = std::max({*asked, closed, counter(fx.state, counted)});
    const std::uint64_t late = fx.height < from ? 0 : (fx.height - from) / market::longest_round(terms);
    auto member = must_load<market::Member>(fx.state, keys::member(task, run));
    if (late == 0 || member.leaving) return;
    store(fx.state, counted, Counter{fx.height});
    member.absent += static_cast<std::uint32_t>(std::min<std::uint64_t>(late, terms.absence_limit));
    store(fx.state, keys::member(task, run), member);
    if (member.absent >= terms.absence_limit) begin_leaving(fx, task, run, true);
}

void note_finalised(Effects& fx, const market::Run& run, std::uint64_t before) {
    if (run.finalised != before && group_of(fx.state, run.task).phase == market::GroupPhase::settling)
        schedule_single(fx, fx.height + 1, ScheduledKind::group_clock, run.task, 0);
    for (std::uint64_t i = before; i < run.finalised; ++i) {
        const auto record = must_load<market::MemberSegment>(fx.state, keys::member_segment(run.task, run.index, i));
        if (views::is_private(fx.state, run.task, run.index, i)) continue;
        if (openings_like(fx.state, run, i, record).contradicted) return wake_members(fx, run.task);
    }
}

U256 earned_in_group(const StateView& view, const market::Run& run, std::uint64_t from, std::uint64_t end) {
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(run.task));
    const market::Rollbacks rollbacks = views::rollbacks(view, run.task);
    U256 earned;
    for (std::uint64_t i = from; i < end; ++i) {
        const auto segment = must_load<market::MemberSegment>(view, keys::member_segment(run.task, run.index, i));
        if (segment.steps == 0) continue;
        const std::uint32_t sent = segment.base + segment.age;
        const auto message = must_load<market::RoundMessage>(view, keys::round_message(run.task, sent, run.index));
        if (market::ended_by_rollback(rollbacks.noted, sent))
            earned += market::segment_pay(run.price, segment.steps, terms.steps_max);  // 21.14.6
        else
            earned += views::pay_of(terms, sent, message, run.price);
    }
    return earned;
}

bool has_taken_in_all(const StateView& view, const market::Run& run) {
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(run.task));
    const auto member = must_load<market::Member>(view, keys::member(run.task, run.index));
    return !member.leaving && member.base == terms.rounds;
}

std::uint64_t payable_in_group(const StateView& view, const market::Run& run, bool ends_unaudited) {
    if (has_finished(view, run) || (ends_unaudited && has_taken_in_all(view, run))) return run.finalised;
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(run.task));
    for (std::uint64_t i = run.paid; i < run.finalised; ++i) {
        const auto segment = must_load<market::MemberSegment>(view, keys::member_segment(run.task, run.index, i));
        if (segment.steps != 0 && segment.base + segment.age + 1 == terms.rounds) return i;
    }
    return run.finalised;
}

bool has_finished(const StateView& view, const market::Run& run) {
    return run.next_state >= 2 && run.finalised + 1 == run.next_state && has_taken_in_all(view, run);
}

bool has_left(const StateView& view, const market::Run& run) {
    return must_load<market::Member>(view, keys::member(run.task, run.index)).leaving &&
           run.finalised + 1 == run.next_state && !holds_shares(view, run.task, run.index);
}

}  // namespace retrace::contracts
