// SPDX-License-Identifier: MIT
#include "verifier/game/member_facts.hpp"

#include <algorithm>

namespace retrace::verifier {
namespace {

std::optional<kernels::PlanHeader::PhaseRoot> find_phase(const kernels::PlanHeader& plan, kernels::Phase phase) {
    const auto found = std::ranges::find(plan.phases, phase, &kernels::PlanHeader::PhaseRoot::phase);
    return found != plan.phases.end() ? std::optional(*found) : std::nullopt;
}

Hash32 fact_root(const kernels::MessageFacts& facts) {
    const kernels::Tensor tensor = kernels::fact_tensor(facts);
    // Its one tile is the root of its tree.
    return kernels::TensorHeader{tensor.dtype, tensor.dims, merkle::tile_leaf(kernels::tile_bytes(tensor, 0))}.root();
}

}  // namespace

std::optional<StepFacts> facts_of_position(const MemberTerms& terms, const kernels::SegmentPositions& positions,
                                           std::uint64_t place, const RecordedMessage& message) {
    const kernels::Position position = positions.at(place);
    const auto phase = find_phase(terms.plan, position.phase);
    if (!phase) return std::nullopt;
    StepFacts facts;
    facts.played_root = phase->program;
    facts.seed = phase->member_seed ? kernels::member_seed(terms.seed, terms.run) : terms.seed;
    facts.op_step = position.op_step;
    facts.output_step = kernels::header_step(positions.span().base, place + 1);
    if (position.phase == kernels::Phase::inner) facts.data_roots = terms.data_roots;
    if (kernels::reads_message(position.phase)) {
        facts.data_roots = message.tensors;
        facts.data_roots.push_back(fact_root(message.facts));
    }
    return facts;
}

std::optional<StepFacts> facts_of_entry(const MemberTerms& terms, std::uint64_t base, std::vector<Hash32> anchor) {
    const auto phase = find_phase(terms.plan, anchor.empty() ? kernels::Phase::init : kernels::Phase::enter);
    if (!phase) return std::nullopt;
    return StepFacts{phase->program, terms.seed, std::move(anchor), base * terms.plan.steps_max,
                     kernels::header_step(base, 0)};
}

}  // namespace retrace::verifier
