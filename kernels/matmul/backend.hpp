// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.hpp"
#include "kernels/runtime/dispatch.hpp"

namespace retrace::kernels {

/// matmul() at a given level of cpu_levels(), for tests and benchmarks. All levels give the same bits.
void matmul_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool);

struct MatmulKernel;
/// Returns the kernel of a level; where a level adds nothing for a precision, that of the level below. Null means the
/// reference.
const MatmulKernel* matmul_kernel(CpuLevel level, Precision precision);

}  // namespace retrace::kernels
