// SPDX-License-Identifier: MIT
// Update rules and learning-rate schedules as ops of the program.
#pragma once

#include <optional>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

struct Parameter {
    std::string name;
    Value value;  ///< The state tensor.
    Value gradient;
};

/// Returns the learning rate of this step (rank 0): "constant", or "cosine" down to zero at `steps`; either after a
/// linear warm-up. Steps count from 0; `shift` is added to the number that the program sees.
Value learning_rate(Graph& g, const TrainingSpec& spec, std::int32_t shift = 0);

/// The next values of a parameter and its moments.
struct Optimized {
    Value value;
    std::vector<Value> moments;
};
/// Scalars are computed once per step. AdamW is Loshchilov and Hutter (2019), in PyTorch's order of operations:
/// m = β1·m + (1-β1)·g, v = β2·v + (1-β2)·g²,
/// p = p·(1 - lr·wd) - (lr / (1-β1^t)) · m / (√v / √(1-β2^t) + ε).
/// `moments`: for each suffix of `moment_suffixes` a state tensor for each parameter.
std::vector<Optimized> optimized(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& parameters,
                                 const std::vector<std::vector<Value>>& moments, std::int32_t shift = 0);
/// Scales gradients as spec.clip_norm says, declares the moments ("NAME.momentum", or "NAME.m" and "NAME.v") after all
/// parameters and sets the next values. Returns the joint norm of the gradients, if it scales them.
std::optional<Value> add_optimizer(Graph& g, const TrainingSpec& spec, const std::vector<Parameter>& parameters);
/// The parameters with their gradients scaled down to the joint norm spec.clip_norm, if there is one.
struct Clipped {
    std::vector<Parameter> parameters;
    std::optional<Value> norm;  ///< Before they were scaled.
};
Clipped clip(Graph& g, const TrainingSpec& spec, std::vector<Parameter> parameters);
/// Returns the names of a parameter's moments, in the order of their state tensors: all first moments, then all second.
std::vector<std::string> moment_suffixes(const TrainingSpec& spec);

}  // namespace retrace::kernels
