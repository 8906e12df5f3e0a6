// SPDX-License-Identifier: MIT
#include "contracts/records/group_positions.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"
#include "kernels/commit/commitment.hpp"
#include "kernels/plan/plan_executor.hpp"

namespace retrace::contracts {
namespace {

using kernels::Phase;

const market::PhaseRoot* find_phase(const market::GroupSpec& group, Phase phase) {
    const auto found = std::ranges::find(group.phases, static_cast<std::uint8_t>(phase), &market::PhaseRoot::phase);
    return found != group.phases.end() ? &*found : nullptr;
}

/// The data sets of `add`: the message, and the facts about it.
std::optional<std::vector<Hash32>> message_roots(const StateView& view, std::uint64_t task,
                                                 const kernels::Position& position) {
    const auto index = static_cast<std::uint32_t>(position.record);
    const auto record = views::round(view, task, index);
    if (!record || position.message >= record->entries.size()) return std::nullopt;
    const market::RoundEntry& entry = record->entries[position.message];
    auto message = views::round_message(view, task, index, entry.run);
    if (!message) return std::nullopt;
    kernels::ThreadPool inline_pool(1);
    const kernels::Tensor facts = kernels::fact_tensor({entry.steps, record->total, 0, entry.steps});
    message->tensors.push_back(kernels::tensor_root(facts, inline_pool));
    return std::move(message->tensors);
}

}  // namespace

std::optional<kernels::SegmentPositions> positions_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                      std::uint64_t segment) {
    const auto group = views::group_spec(view, task);
    const auto member = views::member_segment(view, task, run, segment);
    if (!group || !member) return std::nullopt;
    std::vector<std::uint32_t> messages;
    for (std::uint32_t r = member->from; r < member->base; ++r) {
        const auto record = views::round(view, task, r);
        if (!record) return std::nullopt;
        messages.push_back(static_cast<std::uint32_t>(record->entries.size()));
    }
    kernels::SegmentSpan span{member->from, member->base, member->steps, {}};
    if (member->omitted != market::MemberSegment::kNone) span.omitted = member->omitted;
    auto positions = kernels::SegmentPositions::make(span, messages, group->steps_max);
    if (!positions) return std::nullopt;
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
    const auto spec = views::spec(view, task);
    const auto group = views::group_spec(view, task);
    const auto positions = positions_of(view, task, run, segment);
    if (!spec || !group || !positions || place >= positions->count()) return std::nullopt;
    const kernels::Position position = positions->at(place);
    const market::PhaseRoot* phase = find_phase(*group, position.phase);
    if (phase == nullptr) return std::nullopt;
    verifier::StepFacts facts;
    facts.played_root = phase->program_root;
    facts.seed = phase->member_seed ? kernels::member_seed(spec->seed, run) : spec->seed;
    facts.op_step = position.op_step;
    facts.output_step = kernels::header_step(positions->span().base, place + 1);
    if (position.phase == Phase::inner) facts.data_roots = spec->data_roots;
    if (position.phase == Phase::add) {
        auto roots = message_roots(view, task, position);
        if (!roots) return std::nullopt;
        facts.data_roots = std::move(*roots);
    }
    return facts;
}

std::optional<verifier::StepFacts> facts_of_entry(const StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto spec = views::spec(view, task);
    const auto group = views::group_spec(view, task);
    const auto member = views::member(view, task, run);
    if (!spec || !group || !member) return std::nullopt;
    const market::PhaseRoot* phase = find_phase(*group, member->anchor.empty() ? Phase::init : Phase::enter);
    if (phase == nullptr) return std::nullopt;
    const std::uint64_t op_step = std::uint64_t{member->entered} * group->steps_max;
    return verifier::StepFacts{phase->program_root, spec->seed, member->anchor, op_step,
                               kernels::header_step(member->entered, 0)};
}

}  // namespace retrace::contracts
