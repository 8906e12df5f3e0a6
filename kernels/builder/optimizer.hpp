// SPDX-License-Identifier: MIT
// Update rules and learning-rate schedules as ops of the program.
#pragma once

#include "kernels/builder/compose.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

struct Parameter {
    std::string name;
    Value value;  ///< The state tensor.
    Value gradient;
};

/// Returns the learning rate of this step (rank 0): "constant", or "cosine" down to zero at `steps`; either after a
/// linear warm-up. The step counts from 0.
Value learning_rate(Graph& g, const TrainingSpec& spec);

/// Declares the moments ("NAME.momentum", or "NAME.m" and "NAME.v") after all parameters and sets the next values.
/// Scalars are computed once per step. AdamW is Loshchilov and Hutter (2019), in PyTorch's order of operations:
/// m = β1·m + (1-β1)·g, v = β2·v + (1-β2)·g²,
/// p = p·(1 - lr·wd) - (lr / (1-β1^t)) · m / (√v / √(1-β2^t) + ε).
void add_optimizer(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& parameters);
/// Returns the names of a parameter's moments, in the order of their state tensors: all first moments, then all second.
std::vector<std::string> moment_suffixes(const TrainingSpec& spec);

}  // namespace retrace::kernels
