// SPDX-License-Identifier: MIT
// Builds the plan of a training in rounds from the programs of the same training on one machine. Each member trains by
// itself and sends its changes of the shared model once a round. plan/SPEC.md 4.
#pragma once

#include <optional>

#include "kernels/builder/training.hpp"
#include "kernels/plan/group_plan.hpp"

namespace retrace::kernels {

enum class UpdateKind : std::uint8_t {
    dense = 1,     ///< All changes, in fp32.
    sparse = 2,    ///< The greatest changes, as places, signs and levels (SparseLoCo, Sarfi et al. 2025).
    gradient = 3,  ///< The gradient of one step in the same form; the optimiser works on their sum, for all members.
    masked = 4,    ///< One of each few changes in turn, as fixed-point values under masks: only their sum is seen.
};

struct RoundsSpec {
    std::uint32_t inner = 10;  ///< Most inner steps of a round; for gradients 1.
    UpdateKind update = UpdateKind::sparse;
    std::uint32_t kept =
        8;  ///< Not dense: changes kept of each row of up to 512 parameters; 1 to 64 (masked: 512), a power of 2.
    std::uint32_t bits = 1;             ///< Sparse, gradient: 1: sign; 2: sign, and which of two levels.
    std::uint32_t mask_bits = 10;       ///< Masked: bits of a value, 2 to 27.
    float residual_decay = 0.95f;       ///< β: the part of changes that were not sent that is left after a round.
    float clip = 2.0f;                  ///< κ: a message counts with at most this times the usual norm.
    std::uint32_t members = 8;          ///< Expected members; only the default of the outer rate depends on it.
    std::optional<float> outer_rate{};  ///< η; empty: `default_outer_rate`. Gradients have none.
    std::uint32_t regions = 0;  ///< Not 0: the plan merges the messages of a region; not of dense and masked updates.
};

/// The outer rate that suits a number of members and of parameters: 1 for dense and masked updates, else the least of 6,
/// 0.75 · members, and what makes up for changes that decay before they are sent (decisions/013).
float default_outer_rate(const RoundsSpec& spec, std::uint64_t parameters);

/// `gradient` is the program of `build_gradient`, for updates of this kind. Errors: a field out of range, state tensors
/// that are neither trained parameters nor their moments (frozen weights, running statistics), an initialiser that is
/// missing.
Result<GroupPlan> build_rounds(const TrainingPrograms& programs, const TrainingSpec& training, const RoundsSpec& spec,
                               const Program* gradient = nullptr);

/// So many messages at most have a sum under masks that does not wrap.
inline constexpr std::uint32_t kMaskedSumMax = 32;

/// The name of the shared parameters among a plan's state tensors.
inline constexpr const char* kAnchorName = "rounds.anchor";

}  // namespace retrace::kernels
