// SPDX-License-Identifier: MIT
// Built-in models: what they are made of, and how each tensor begins.
#pragma once

#include "kernels/builder/layers.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

/// A trained tensor and its initial value: uniform in [-bound, bound) from the Philox stream of its name.
struct ParameterSpec {
    std::string name;
    Dims dims;
    float bound = 0.0f;
};

struct ModelOutput {
    Value logits;                           ///< [batch, classes]
    std::vector<ParameterSpec> parameters;  ///< In the order of their state tensors.
    std::vector<Value> values;              ///< The state tensors.
};

/// Empty when the specification can be built; otherwise an error that names the field.
Status<> check_model(const ModelSpec& spec);
/// Declares the parameters as state tensors and writes the forward ops on x, fp32 [batch, input…].
ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, Precision precision);

}  // namespace retrace::kernels
