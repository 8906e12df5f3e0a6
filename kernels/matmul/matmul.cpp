// SPDX-License-Identifier: MIT
#include "kernels/matmul/matmul.hpp"

#include "kernels/matmul/backend.hpp"
#include "kernels/matmul/engine.hpp"

namespace retrace::kernels {

namespace {

/// The kernel of a level: where a level brings nothing new for a precision, that of the level below.
const MatmulKernel* kernel_of(CpuLevel level, Precision precision) {
    const bool sliced = precision != Precision::f32;
    switch (level) {
        case CpuLevel::scalar:
            return nullptr;
        case CpuLevel::avx2:
            return matmul_kernel_avx2(precision);
        case CpuLevel::avx512:
            return matmul_kernel_avx512(precision);
        case CpuLevel::vnni:
            return sliced ? matmul_kernel_vnni(precision) : matmul_kernel_avx512(precision);
        case CpuLevel::amx:
            return sliced ? matmul_kernel_amx(precision) : matmul_kernel_avx512(precision);
    }
    return nullptr;
}

}  // namespace

void matmul_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool) {
    const MatmulKernel* kernel = kernel_of(level, precision);
    if (kernel == nullptr) return matmul_reference(precision, a, b, c, c_stride);
    matmul_tiled(*kernel, a, b, c, c_stride, pool);
}

void matmul(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride,
            ThreadPool& pool) {
    matmul_at(cpu_level(), precision, a, b, c, c_stride, pool);
}

}  // namespace retrace::kernels
