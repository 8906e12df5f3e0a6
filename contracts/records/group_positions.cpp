// SPDX-License-Identifier: MIT
#include "contracts/records/group_positions.hpp"

#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::contracts {
namespace {

std::optional<verifier::MemberTerms> terms_of(const StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto spec = views::spec(view, task);
    const auto group = views::group_spec(view, task);
    if (!spec || !group) return std::nullopt;
    if (group->private_sets == 0) return verifier::MemberTerms{plan_of(*group), spec->seed, run, spec->data_roots};
    const auto member = views::member(view, task, run);
    if (!member) return std::nullopt;
    return verifier::MemberTerms{plan_of(*group), spec->seed, run, member->data};  // 21.13.3
}

std::optional<verifier::RecordedMessage> message_at(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                    std::uint8_t attempt, const kernels::SegmentSpan& span,
                                                    const kernels::Position& position) {
    const auto round = static_cast<std::uint32_t>(position.record);
    const auto record = views::record_read(view, task, run, round, attempt, span);
    if (record && position.phase == kernels::Phase::unmask)
        return verifier::RecordedMessage{{record->terms}, kernels::mask_facts(position.message)};
    if (!record || position.message >= record->entries.size()) return std::nullopt;
    const market::RoundEntry& entry = record->entries[position.message];
    const auto message = views::round_message(view, task, round, entry.run);
    if (!message) return std::nullopt;
    return verifier::RecordedMessage{message->tensors, {entry.weight, record->total, entry.age, entry.steps}};
}

}  // namespace

const Hash32& inner_root(const market::GroupSpec& group) {
    return group.phases.at(static_cast<std::size_t>(kernels::Phase::inner) - 1).program_root;
}

Hash32 mask_root_of(const std::vector<market::MaskTerm>& terms) {
    std::vector<kernels::MaskRow> rows;
    for (const market::MaskTerm& term : terms) rows.push_back({term.seed, term.added});
    return kernels::mask_table_root(rows);
}

kernels::SegmentSpan span_of(const market::MemberSegment& segment, bool regional) {
    kernels::SegmentSpan span{segment.from, segment.base, segment.steps, {}, segment.masks, regional};
    if (segment.omitted != market::MemberSegment::kNone) span.omitted = segment.omitted;
    return span;
}

kernels::PlanHeader plan_of(const market::GroupSpec& group) {
    kernels::PlanHeader plan{group.steps_max, group.shared, group.public_tensors, {}};
    for (const market::PhaseRoot& phase : group.phases)
        plan.phases.push_back({static_cast<kernels::Phase>(phase.phase), phase.member_seed, phase.program_root});
    return plan;
}

std::optional<kernels::SegmentPositions> positions_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                      std::uint64_t segment) {
    const auto group = views::group_spec(view, task);
    const auto member = views::member_segment(view, task, run, segment);
    if (!group || !member) return std::nullopt;
    const std::uint8_t attempt = views::attempt_of(view, task, run, segment);
    const kernels::SegmentSpan span = span_of(*member, group->regions != 0);
    std::vector<std::uint32_t> messages, masks;
    for (std::uint32_t r = member->from; r < member->base; ++r) {
        const auto record = views::record_read(view, task, run, r, attempt, span);
        if (!record) return std::nullopt;
        messages.push_back(static_cast<std::uint32_t>(record->entries.size()));
        masks.push_back(static_cast<std::uint32_t>(record->masks.size()));
    }
    auto positions = kernels::SegmentPositions::make(span, messages, group->steps_max, masks);
    if (!positions || positions->count() != member->positions) return std::nullopt;
    return std::move(*positions);
}

std::optional<std::uint64_t> header_step_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                            std::uint64_t index) {
    if (index == 0) {
        const auto member = views::member(view, task, run);
        if (!member) return std::nullopt;
        return kernels::header_step(member->entered, 0);
    }
    const auto segment = views::member_segment(view, task, run, index - 1);
    if (!segment) return std::nullopt;
    return kernels::header_step(segment->base, segment->positions);
}

std::optional<verifier::StepFacts> facts_of_position(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                     std::uint64_t segment, std::uint64_t place) {
    const auto terms = terms_of(view, task, run);
    const auto positions = positions_of(view, task, run, segment);
    if (!terms || !positions || place >= positions->count()) return std::nullopt;
    verifier::RecordedMessage message;
    const kernels::Position position = positions->at(place);
    if (position.phase == kernels::Phase::mask) {
        const auto member = views::member_segment(view, task, run, segment);
        const auto sent = views::round_message(view, task, member->base + member->age, run);
        if (!sent) return std::nullopt;
        message = {{sent->mask_root}, kernels::mask_facts(position.message)};
    } else if (kernels::reads_message(position.phase)) {
        const std::uint8_t attempt = views::attempt_of(view, task, run, segment);
        auto found = message_at(view, task, run, attempt, positions->span(), position);
        if (!found) return std::nullopt;
        message = std::move(*found);
    }
    return verifier::facts_of_position(*terms, *positions, place, message);
}

std::optional<verifier::StepFacts> facts_of_entry(const StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto terms = terms_of(view, task, run);
    const auto member = views::member(view, task, run);
    if (!terms || !member) return std::nullopt;
    return verifier::facts_of_entry(*terms, member->entered, member->anchor);
}

}  // namespace retrace::contracts
