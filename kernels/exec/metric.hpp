// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Whether the executor reports this op output at every step.
inline bool is_metric(const TensorRecord& output) {
    return !output.name.empty() && output.dims.empty() && output.dtype == DType::f32;
}

}  // namespace retrace::kernels
