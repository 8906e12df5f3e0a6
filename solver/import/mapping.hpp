// SPDX-License-Identifier: MIT
// From a recorded PyTorch model to one that training programs can be built from.
#pragma once

#include "kernels/builder/models.hpp"
#include "solver/export/safetensors.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

struct MappingOptions {
    kernels::LossKind loss = kernels::LossKind::cross_entropy;
    kernels::Precision precision = kernels::Precision::i8x2;
    kernels::DType x_dtype = kernels::DType::u8, y_dtype = kernels::DType::u8;
    kernels::Dims sample, target;  ///< Extents of one sample and one target, as the data set has them.
    bool tokens = false;
    std::uint64_t classes = 0;
};

struct MappedModel {
    kernels::ModelSource source;       ///< Keeps the recording alive.
    std::vector<NamedTensor> initial;  ///< Its state tensors as the file had them, without moments.
    std::uint64_t parameters = 0;      ///< Elements that are trained.
    std::uint64_t frozen = 0;          ///< Elements of frozen parameters.
};

/// Looks at every op of both recordings; the error lists all that cannot be mapped: op, module path, what to
/// use instead.
Result<MappedModel> map_model(RecordedModel model, const MappingOptions& options);

/// Ops that a file runs alike in both modes, though PyTorch has two ways for them: dropout that evaluation does too,
/// batch norm whose statistics training leaves as they are. Traced files are like that. A sentence an op.
std::vector<std::string> fixed_modes(const RecordedModel& model);

/// Whether calls of this name are recorded whole, because they are mapped or refused under their own name
/// (the others are taken apart where PyTorch can).
bool is_known(const std::string& name);

}  // namespace retrace::solver
