// SPDX-License-Identifier: MIT
// retrace-torch, the program beside this one that loads LibTorch: TorchScript files are read and written by
// it alone.
#pragma once

#include <filesystem>

#include "solver/export/safetensors.hpp"
#include "solver/import/recording.hpp"

namespace retrace::node {

struct ModelInput {
    bool tokens = false;
    kernels::Dims sample;  ///< Extents of one sample.
    std::uint64_t batch = 1, eval_batch = 1;
};

/// Runs the model's forward() once in each mode; errors are its sentences, or that this build has no
/// LibTorch. Where the kernel has no sandbox for it, it warns, or fails if one is required.
Result<solver::RecordedModel> record_model(const std::filesystem::path& model, const ModelInput& input,
                                           bool require_sandbox);
/// Writes `out`: the model with these tensors in place of its own.
Status<> export_model(const std::filesystem::path& model, const std::vector<solver::NamedTensor>& tensors,
                      std::uint64_t steps, const std::filesystem::path& out);

}  // namespace retrace::node
