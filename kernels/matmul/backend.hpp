// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.hpp"
#include "kernels/runtime/dispatch.hpp"

namespace retrace::kernels {

/// matmul() held to one of cpu_levels(), for tests and benchmarks. Equal bits at every level.
void matmul_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool);

struct MatmulKernel;
/// The kernel of a level: where a level brings nothing new for a precision, that of the level below. Null: the
/// reference.
const MatmulKernel* matmul_kernel(CpuLevel level, Precision precision);

}  // namespace retrace::kernels
