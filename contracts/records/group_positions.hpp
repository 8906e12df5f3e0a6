// SPDX-License-Identifier: MIT
// What the records of a group task say about the states and positions of a member: pure functions of them. SPEC 15.11.
// An optional result is empty if a record is missing, or if records do not fit together.
#pragma once

#include "contracts/records/group_views.hpp"
#include "verifier/game/member_facts.hpp"

namespace retrace::contracts {

using ledger::StateView;

/// What the root of the group's plan commits to.
kernels::PlanHeader plan_of(const market::GroupSpec& group);
/// Root of the program of the phase `inner`, whose header says how many tensors a state has.
const Hash32& inner_root(const market::GroupSpec& group);
/// The root of the table of these masks, which `unmask` and `mask` read.
Hash32 mask_root_of(const std::vector<market::MaskTerm>& terms);
/// `regional`: the group has regions.
kernels::SegmentSpan span_of(const market::MemberSegment& segment, bool regional);
/// The positions of the segment from state `segment` of the run to the next one.
std::optional<kernels::SegmentPositions> positions_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                      std::uint64_t segment);
/// The step that the header of state `index` of the run must name.
std::optional<std::uint64_t> header_step_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                            std::uint64_t index);
/// What happens at position `place` of the segment.
std::optional<verifier::StepFacts> facts_of_position(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                     std::uint64_t segment, std::uint64_t place);
/// How the run's state 0 is made.
std::optional<verifier::StepFacts> facts_of_entry(const StateView& view, std::uint64_t task, std::uint32_t run);

}  // namespace retrace::contracts
