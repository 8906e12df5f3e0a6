// SPDX-License-Identifier: MIT
// Trainings with differential privacy for one example (Abadi et al. 2016): each example's gradient is scaled down to a
// norm, and their sum gains Gaussian noise. For models of linear layers on vectors no gradient of a single example is
// computed, because its norm follows from inputs and errors of the layers (Goodfellow 2015).
#pragma once

#include "kernels/builder/models.hpp"

namespace retrace::kernels {

struct PrivateSpec {
    float clip = 1.0f;   ///< C: the greatest norm of an example's gradient.
    float noise = 0.0f;  ///< σ: the sum of the gradients gains noise of deviation σ·C in each element.
};

/// Like build_training, for the model "mlp" and the loss cross-entropy. If there is noise, `train` has a third data set,
/// noise_key int32 [8]: whoever knows it can take the noise away, and a second training with it would show the
/// differences of both. TrainingSpec::clip_norm does not apply. Errors: as those of build_training; another model or loss,
/// a clip that is no finite number over 0, a noise that is no finite number from 0.
Result<TrainingPrograms> build_private_training(const ModelSpec& model, const TrainingSpec& training,
                                                const PrivateSpec& terms, std::uint64_t eval_samples,
                                                std::uint64_t eval_batch);

}  // namespace retrace::kernels
