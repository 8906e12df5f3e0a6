// SPDX-License-Identifier: MIT
// LibTorch behind a plain interface: only torch_model.cpp includes its headers.
#pragma once

#include <iosfwd>

#include "solver/export/safetensors.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

/// A batch of samples as forward() takes it.
struct SampleBatch {
    bool tokens = false;  ///< int64, else float32.
    kernels::Dims dims;
};

/// What LibTorch would look up on the machine when it first needs it, and what it may do without: before a sandbox
/// (sandbox.hpp) keeps it from reading files and from making code.
void prepare_torch();

/// Loads a TorchScript file, runs forward() once in each mode and records its ATen calls. Errors are
/// sentences about the file or the model, which do not name it.
Result<RecordedModel> record_model(std::istream& file, const SampleBatch& train, const SampleBatch& eval);

/// Writes to `out`: the model of the file with these tensors in place of its own, found by name; counters of
/// batches go up by `steps`.
Status<> export_model(std::istream& file, const std::vector<NamedTensor>& tensors, std::uint64_t steps,
                      std::ostream& out);

}  // namespace retrace::solver
