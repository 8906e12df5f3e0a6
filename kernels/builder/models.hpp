// SPDX-License-Identifier: MIT
// Built-in models: what they are made of, and how each tensor begins.
#pragma once

#include "kernels/builder/layers.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

/// How a trained tensor begins; random numbers come from the Philox stream of the tensor's name.
enum class Start : std::uint8_t {
    uniform = 1,   ///< In [-scale, scale).
    normal = 2,    ///< Deviation `scale`.
    constant = 3,  ///< `scale` everywhere.
};

struct ParameterSpec {
    std::string name;
    Dims dims;
    Start start = Start::constant;
    float scale = 0.0f;
};

struct ModelOutput {
    Value logits;                           ///< [rows, classes], a row for each label.
    std::vector<ParameterSpec> parameters;  ///< In the order of their state tensors.
    std::vector<Value> values;              ///< The state tensors.
};

/// Reads tokens and predicts one for each; the other models read images (or vectors) and predict one class a sample.
bool is_token_model(const ModelSpec& spec);
/// An error names the field that cannot be built.
Status<> check_model(const ModelSpec& spec);
/// Declares the parameters as state tensors and writes the forward ops. x: fp32 [batch, input…], or int32
/// [batch·tokens] of a token model.
ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision);

}  // namespace retrace::kernels
