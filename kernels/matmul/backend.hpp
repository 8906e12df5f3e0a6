// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/matmul/matmul.hpp"

namespace retrace::kernels {

/// matmul() held to one of cpu_levels(), for tests and benchmarks. Equal bits at every level.
void matmul_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool);

}  // namespace retrace::kernels
