// SPDX-License-Identifier: MIT
// Built-in models: their parameters, forward ops and the initial values of each tensor.
#pragma once

#include <functional>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

/// Initial values of a trained tensor; random numbers come from the Philox stream of the tensor's name.
enum class Start : std::uint8_t {
    uniform = 1,   ///< Uniform in [-scale, scale).
    normal = 2,    ///< Normal with deviation `scale`.
    constant = 3,  ///< `scale` everywhere.
    given = 4,     ///< Given by the task (imported models).
};

struct ParameterSpec {
    std::string name;
    Dims dims;
    Start start = Start::constant;
    float scale = 0.0f;
    bool trained = true;  ///< Frozen parameters and buffers are state without gradient, decay or moments.
};

struct ModelOutput {
    Value logits;                                  ///< [rows, classes], one row per label.
    std::vector<ParameterSpec> parameters;         ///< In the order of their state tensors.
    std::vector<Value> values;                     ///< The state tensors.
    std::vector<std::pair<Value, Value>> updates;  ///< Buffers and their next values (running statistics).
};

/// Whether the model reads tokens and predicts one token for each; other models read images (or vectors) and predict
/// one class per sample.
bool is_token_model(const ModelSpec& spec);
/// Checks the model; an error names the field that is not supported.
Status<> check_model(const ModelSpec& spec);
/// Declares the parameters as state tensors and writes the forward ops. x: fp32 [batch, input…], or int32
/// [batch·tokens] of a token model. With `training`, batch norm takes the statistics of the batch and updates the
/// running ones; otherwise it uses the running ones.
ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision,
                        bool training);

/// A model: the extents of one sample and of its target in the data set, and the forward ops.
struct ModelSource {
    DType x_dtype = DType::u8, y_dtype = DType::u8;
    Dims sample, target;
    bool tokens = false;        ///< x are tokens; else u8 are pixels, scaled to [0, 1]; fp32 stay unchanged.
    std::uint64_t classes = 0;  ///< Labels of the data are below it; 0: the targets are not labels.
    /// Writes the forward ops for x: fp32 [batch, sample…], or int32 [batch·tokens]. Errors are those of the model.
    std::function<Result<ModelOutput>(Tape& tape, Value x, std::uint64_t batch, bool training)> write;
};
/// Returns a built-in model on samples of bytes (int32 for tokens of vocabularies over 256), one label each.
ModelSource source_of(const ModelSpec& model, Precision precision);
/// Builds the program whose step writes the gradients of the trained parameters, scaled to clip_norm, to the state
/// tensors "NAME.gradient", which follow those of the model. Data sets and metrics are those of TrainingPrograms::train.
Result<Program> build_gradient(const ModelSource& model, const TrainingSpec& training);
/// Like build_training of training.hpp; `init` is empty if every tensor is given.
Result<TrainingPrograms> build_training(const ModelSource& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch);

}  // namespace retrace::kernels
