// SPDX-License-Identifier: MIT
// Built-in models: what they are made of, and how each tensor begins.
#pragma once

#include <functional>

#include "kernels/builder/layers.hpp"
#include "kernels/builder/training.hpp"

namespace retrace::kernels {

/// How a trained tensor begins; random numbers come from the Philox stream of the tensor's name.
enum class Start : std::uint8_t {
    uniform = 1,   ///< In [-scale, scale).
    normal = 2,    ///< Deviation `scale`.
    constant = 3,  ///< `scale` everywhere.
    given = 4,     ///< With the task (imported models).
};

struct ParameterSpec {
    std::string name;
    Dims dims;
    Start start = Start::constant;
    float scale = 0.0f;
    bool trained = true;  ///< Frozen parameters and buffers are state without gradient, decay or moments.
};

struct ModelOutput {
    Value logits;                           ///< [rows, classes], a row for each label.
    std::vector<ParameterSpec> parameters;  ///< In the order of their state tensors.
    std::vector<Value> values;              ///< The state tensors.
    std::vector<std::pair<Value, Value>> updates;  ///< Buffers and what they become (running statistics).
};

/// Reads tokens and predicts one for each; the other models read images (or vectors) and predict one class a sample.
bool is_token_model(const ModelSpec& spec);
/// An error names the field that cannot be built.
Status<> check_model(const ModelSpec& spec);
/// Declares the parameters as state tensors and writes the forward ops. x: fp32 [batch, input…], or int32
/// [batch·tokens] of a token model.
/// `training`: batch norm takes the statistics of the batch and updates the running ones, else it uses those.
ModelOutput build_model(Tape& tape, const ModelSpec& spec, Value x, std::uint64_t batch, Precision precision,
                        bool training);

/// The extents of one sample and of its target as the data set has them, and the forward ops.
struct ModelSource {
    DType x_dtype = DType::u8, y_dtype = DType::u8;
    Dims sample, target;
    bool tokens = false;         ///< x are tokens; else u8 are pixels, seen as [0, 1], and fp32 are seen as they are.
    std::uint64_t classes = 0;   ///< Labels of the data are below it; 0: they are none.
    /// x: fp32 [batch, sample…], or int32 [batch·tokens]. Errors are the model's.
    std::function<Result<ModelOutput>(Tape& tape, Value x, std::uint64_t batch, bool training)> write;
};
/// A built-in model on samples of bytes (tokens of vocabularies over 256: int32), a label each.
ModelSource source_of(const ModelSpec& model, Precision precision);
/// As below; `init` is empty where every tensor is given.
Result<TrainingPrograms> build_training(const ModelSource& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch);

}  // namespace retrace::kernels
