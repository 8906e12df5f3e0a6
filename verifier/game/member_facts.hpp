// SPDX-License-Identifier: MIT
// The facts of a position of a group's member, from what the ledger records of it: pure functions. SPEC 9.2.1.
#pragma once

#include <optional>

#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "kernels/plan/regions.hpp"
#include "verifier/game/game.hpp"

namespace retrace::verifier {

/// What all positions of a member have in common.
struct MemberTerms {
    kernels::PlanHeader plan;
    std::uint64_t seed = 0;  ///< The task's.
    std::uint32_t run = 0;
    std::vector<Hash32> data_roots;  ///< Of the inner steps.
};

/// What a position reads: a message of a record (`add`, `merge_add`), or masks (`unmask`, `mask`).
struct RecordedMessage {
    std::vector<Hash32> tensors;  ///< Roots of the public tensors, or that of the table of masks.
    kernels::MessageFacts facts;
};

/// The facts of position `place` < positions.count(). `message` is what it reads if its phase is `add`, `merge_add`,
/// `unmask` or `mask`; else it is not looked at. Nullopt if the plan does not have the phase.
std::optional<StepFacts> facts_of_position(const MemberTerms& terms, const kernels::SegmentPositions& positions,
                                           std::uint64_t place, const RecordedMessage& message);
/// How the member's state 0 is made: by `enter` from the shared tensors with the roots `anchor` at the start of round
/// `base`, or by `init` if there are none. Nullopt if the plan does not have the phase.
std::optional<StepFacts> facts_of_entry(const MemberTerms& terms, std::uint64_t base, std::vector<Hash32> anchor);

}  // namespace retrace::verifier
