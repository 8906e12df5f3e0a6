// SPDX-License-Identifier: MIT
#include "kernels/matmul/matmul.hpp"

#include "kernels/matmul/backend.hpp"

namespace retrace::kernels {

void matmul_at(CpuLevel, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool) {
    matmul_reference(precision, a, b, c, c_stride);
}

void matmul(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride,
            ThreadPool& pool) {
    matmul_at(cpu_level(), precision, a, b, c, c_stride, pool);
}

}  // namespace retrace::kernels
