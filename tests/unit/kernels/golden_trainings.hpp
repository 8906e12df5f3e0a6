// SPDX-License-Identifier: MIT
// The trainings whose roots are published in tests/vectors/numerics_training: models, hyper-parameters and data, all
// derived from integers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/builder/declare.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels::golden {

inline constexpr std::uint64_t kSamples = 256, kSeed = 20260101;

struct Recipe {
    ModelSpec model;
    TrainingSpec training;
    /// Replaces the layers of the built-in model (x → logits) if it lacks the layers to be trained.
    std::function<Value(Declarer&, const Recipe&, Value x, std::uint64_t batch, bool training)> layers = {};
};

/// All trainings with published roots, by name.
std::map<std::string, Recipe> recipes();
std::vector<std::string> names();
TrainingPrograms programs(const Recipe& recipe);
/// Samples and labels.
std::pair<Tensor, Tensor> data(const ModelSpec& model);
/// Lines "NAME STEPS ROOT" of the published file, keyed by "NAME STEPS".
std::map<std::string, std::string> roots(const std::string& path);

}  // namespace retrace::kernels::golden
