// SPDX-License-Identifier: MIT
// Wraps LibTorch in an interface without its headers; only torch_model.cpp includes them.
#pragma once

#include <iosfwd>

#include "solver/export/safetensors.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

/// Type and shape of a batch of samples for forward().
struct SampleBatch {
    bool tokens = false;  ///< int64, else float32.
    kernels::Dims dims;
};

/// Makes LibTorch's lazy initialisations and disables the features that generate code. Must be called before a sandbox
/// (sandbox.hpp) prevents it from opening files and generating code.
void prepare_torch();

/// Loads a TorchScript file, runs forward() once in each mode and records its ATen calls. Errors are
/// sentences about the file or the model, which do not name it.
Result<RecordedModel> record_model(std::istream& file, const SampleBatch& train, const SampleBatch& eval);

/// Writes the file's model to `out` with its tensors replaced by those of the same name; increments counters of batches
/// by `steps`.
Status<> export_model(std::istream& file, const std::vector<NamedTensor>& tensors, std::uint64_t steps,
                      std::ostream& out);

}  // namespace retrace::solver
