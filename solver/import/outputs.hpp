// SPDX-License-Identifier: MIT
// Finds the values that the loss is computed from.
#pragma once

#include "kernels/builder/training.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

/// The value that the loss takes as logits. A model that ends in a sigmoid gives probabilities; under bce the
/// loss of their logits is the same and never infinite. Probabilities without logits are refused.
Result<std::uint32_t> logits_of(const Recording& recording, kernels::LossKind loss);

}  // namespace retrace::solver
