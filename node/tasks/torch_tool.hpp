// SPDX-License-Identifier: MIT
// Runs retrace-torch, the program beside this one that loads LibTorch; only it reads and writes TorchScript files.
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

/// Runs the model's forward() once in each mode. Errors are the tool's messages, or that this build has no LibTorch.
/// Warns if the kernel has no sandbox for it, or fails if one is required.
Result<solver::RecordedModel> record_model(const std::filesystem::path& model, const ModelInput& input,
                                           bool require_sandbox);
/// Writes the model to `out` with these tensors in place of its own.
Status<> export_model(const std::filesystem::path& model, const std::vector<solver::NamedTensor>& tensors,
                      std::uint64_t steps, const std::filesystem::path& out);

}  // namespace retrace::node
