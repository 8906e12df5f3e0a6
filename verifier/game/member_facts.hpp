// SPDX-License-Identifier: MIT
// The facts of a position of a group's member, from what the ledger records of it: pure functions. SPEC 9.2.1.
#pragma once

#include <optional>

#include "kernels/plan/plan_executor.hpp"
#include "verifier/game/game.hpp"

namespace retrace::verifier {

/// What all positions of a member have in common.
struct MemberTerms {
    kernels::PlanHeader plan;
    std::uint64_t seed = 0;  ///< The task's.
    std::uint32_t run = 0;
    std::vector<Hash32> data_roots;  ///< Of the inner steps.
};

/// A message of a record, as `add` reads it.
struct RecordedMessage {
    std::vector<Hash32> tensors;  ///< Roots of the public tensors.
    kernels::MessageFacts facts;
};

/// The facts of position `place` < positions.count(). `message` is the one that it takes in if its phase is `add`, else
/// it is not read. Nullopt if the plan does not have the phase.
std::optional<StepFacts> facts_of_position(const MemberTerms& terms, const kernels::SegmentPositions& positions,
                                           std::uint64_t place, const RecordedMessage& message);
/// How the member's state 0 is made: by `enter` from the shared tensors with the roots `anchor` at the start of round
/// `base`, or by `init` if there are none. Nullopt if the plan does not have the phase.
std::optional<StepFacts> facts_of_entry(const MemberTerms& terms, std::uint64_t base, std::vector<Hash32> anchor);

}  // namespace retrace::verifier
