// SPDX-License-Identifier: MIT
// Builds the plan of a training in rounds from the programs of the same training on one machine. Each member trains by
// itself and sends its changes of the shared model once a round. plan/SPEC.md 4.
#pragma once

#include "kernels/builder/training.hpp"
#include "kernels/plan/group_plan.hpp"

namespace retrace::kernels {

struct RoundsSpec {
    std::uint32_t inner = 10;      ///< Most inner steps of a round.
    float residual_decay = 0.95f;  ///< β: the part of changes that were not sent that is left after a round.
    float clip = 2.0f;             ///< κ: a message counts with at most this times the usual norm.
    float outer_rate = 1.0f;       ///< η.
};

/// Errors: a field out of range, state tensors that are neither trained parameters nor their moments (frozen weights,
/// running statistics), an initialiser that is missing.
Result<GroupPlan> build_rounds(const TrainingPrograms& programs, const TrainingSpec& training, const RoundsSpec& spec);

/// The name of the shared parameters among a plan's state tensors.
inline constexpr const char* kAnchorName = "rounds.anchor";

}  // namespace retrace::kernels
