// SPDX-License-Identifier: MIT
// How a step reads its samples.
#pragma once

#include "kernels/builder/models.hpp"

namespace retrace::kernels {

struct Batch {
    Value x;       ///< Pixels as fp32 [batch, sample…] in [0, 1], fp32 samples unchanged, or tokens as int32
                   ///< [batch·tokens].
    Value target;  ///< Labels int32 [rows, 1], one row for each row of logits; or fp32 [batch, elements].
};

/// Maximum samples and steps of DataOrder::sequential; up to these its arithmetic is exact in fp32.
inline constexpr std::uint64_t kSequentialSamplesMax = 1u << 24, kSequentialStepsMax = 1u << 21;

/// Returns int32 [batch]: the samples of this step.
Value training_index(Graph& g, const TrainingSpec& spec);
/// Declares the data sets x and y and reads the samples that `index` names.
Batch read_batch(Graph& g, const ModelSource& model, LossKind loss, std::uint64_t samples, Value index);
/// Returns loss and gradient for the output of a model; `valid` as in softmax_cross_entropy.
Loss apply_loss(Graph& g, LossKind kind, Value output, Value target, std::optional<Value> valid = std::nullopt);
/// Checks that the shape of `output` fits that of `target`; the error describes the mismatch.
Status<> check_output(const Graph& g, const ModelSource& model, LossKind kind, Value output, Value target);

}  // namespace retrace::kernels
