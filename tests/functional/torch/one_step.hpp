// SPDX-License-Identifier: MIT
// One training step of a TorchScript file, imported in the process of the test.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "solver/export/safetensors.hpp"
#include "tests/functional/torch/temporary_folder.hpp"

namespace retrace::testing {

struct OurStep {
    double loss = 0, eval_loss = 0;  ///< Cross entropy of the batch in both modes, before the step.
    std::map<std::string, std::vector<float>> gradients;
    std::vector<solver::NamedTensor> after;  ///< Parameters and buffers.
};
/// Plain descent at rate 1 in f32 on all of x (float32) and y (uint8): the change of a tensor is its gradient.
Result<OurStep> step_of_ours(const std::filesystem::path& model, const kernels::Tensor& x, const kernels::Tensor& y,
                             std::uint64_t classes);
/// Expects loss and gradients to equal LibTorch's within 1e-4.
void expect_step_of_LibTorch(const OurStep& ours, const std::filesystem::path& model, const kernels::Tensor& x,
                             const kernels::Tensor& y);

/// float32 [dims] with numbers in (-1, 1), and uint8 labels below 5.
kernels::Tensor samples_of(const kernels::Dims& dims);
kernels::Tensor labels_of(std::uint64_t count);

}  // namespace retrace::testing
