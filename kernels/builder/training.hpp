// SPDX-License-Identifier: MIT
// Builds the programs of a training from a model's name and sizes, with built-in models, losses and optimisers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/program/program.hpp"

namespace retrace::kernels {

struct ModelSpec {
    std::string kind = "mlp";                        ///< "mlp", "lenet", "resnet", "vit"; token models "gpt", "llama".
    std::vector<std::uint64_t> hidden = {128};       ///< mlp: widths of the hidden layers.
    std::vector<std::uint64_t> input = {1, 28, 28};  ///< Extents of one sample; for a token model, its tokens.
    std::uint64_t classes = 10;  ///< Number of classes; for a token model, the size of the vocabulary.
    std::uint64_t width = 64, layers = 2, heads = 4, patch = 4;  ///< Transformers; patch: only vit. resnet: width is
                                                                 ///< the channels of the first stage, layers the blocks
                                                                 ///< of each stage.
    std::uint64_t lora_rank = 0;  ///< Transformers: if not 0, only corrections of this rank to the linear layers of
                                  ///< the blocks are trained (LoRA); all other parameters are frozen state.
    float lora_alpha = 1.0f;      ///< The corrections are scaled by lora_alpha / lora_rank.
};

enum class Optimizer : std::uint8_t { sgd = 1, adamw = 2 };
enum class LossKind : std::uint8_t { cross_entropy = 1, mse = 2, bce = 3 };
/// The order in which steps read samples: a new random order in each epoch, or that of the data set. In both, an
/// incomplete last batch is dropped.
enum class DataOrder : std::uint8_t { shuffled = 1, sequential = 2 };

struct TrainingSpec {
    std::uint64_t samples = 0;  ///< Rows of the data set.
    std::uint64_t batch = 128;
    std::uint64_t steps = 1000;  ///< Number of steps, for the schedule.
    LossKind loss = LossKind::cross_entropy;
    DataOrder order = DataOrder::shuffled;
    Optimizer optimizer = Optimizer::adamw;
    float learning_rate = 1e-3f;
    float momentum = 0.9f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.0f;
    std::string schedule = "constant";  ///< "constant" or "cosine", after a linear warm-up over warmup_steps.
    std::uint64_t warmup_steps = 0;
    float clip_norm = 0.0f;                 ///< The joint norm to which gradients are scaled down; 0: never.
    Precision precision = Precision::i8x2;  ///< Precision of linear layers; the head is i8x3 if they are i8x2;
                                            ///< products with K < 64 are f32.
    bool keep_metrics = false;              ///< Whether the state has metric tensors.
};

/// Metric tensors (fp32, rank 0) about the step before, so that a checkpoint commits to them. In this order they are the
/// last ones of a state. They are 0 at first, and belong to no model. In a training in rounds each member has its own,
/// and no round combines them.
inline constexpr const char* kAccuracyTensor = "metrics.accuracy";  ///< Part of the batch whose class is right; of
                                                                    ///< trainings with one class a sample.
inline constexpr const char* kGradientNormTensor = "metrics.gradient_norm";  ///< Of all gradients together, before they
                                                                             ///< are clipped; of trainings that clip.
inline constexpr const char* kLossTensor = "metrics.loss";
bool is_metric_tensor(std::string_view name);

struct TrainingPrograms {
    Program train;  ///< Data sets: x u8 [samples, input…], y u8 [samples]; for token models x and y [samples,
                    ///< tokens], u8, or i32 for vocabularies over 256. Metrics: "loss".
    Program init;   ///< The seeded initialiser of the same state tensors.
    Program eval;   ///< Same state tensors, none written; data sets x, y of `eval_samples` rows; sequential batches by
                    ///< step (batch t = rows t·batch …); metrics "loss" (sum over the existing rows, divided by the
                    ///< rows of a batch) and, for classifiers, "correct" (count in the batch).
};
/// Builds the programs. Errors name the field: unknown kind, batch > samples, sizes of zero.
Result<TrainingPrograms> build_training(const ModelSpec& model, const TrainingSpec& training,
                                        std::uint64_t eval_samples, std::uint64_t eval_batch);

}  // namespace retrace::kernels
