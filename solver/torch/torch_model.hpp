// SPDX-License-Identifier: MIT
// LibTorch behind a plain interface: only torch_model.cpp includes its headers.
#pragma once

#include <filesystem>

#include "solver/export/safetensors.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

/// A batch of samples as forward() takes it.
struct SampleBatch {
    bool tokens = false;  ///< int64, else float32.
    kernels::Dims dims;
};

/// Loads a TorchScript file, runs forward() once in each mode and records its ATen calls. Errors are
/// sentences about the file or the model.
Result<RecordedModel> record_model(const std::filesystem::path& path, const SampleBatch& train,
                                   const SampleBatch& eval);

/// Writes `out`: the model of `path` with these tensors in place of its own, found by name; counters of
/// batches go up by `steps`.
Status<> export_model(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      std::uint64_t steps, const std::filesystem::path& out);

}  // namespace retrace::solver
