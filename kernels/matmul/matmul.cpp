// SPDX-License-Identifier: MIT
#include "kernels/matmul/matmul.hpp"

#include <vector>

#include "kernels/matmul/backend.hpp"
#include "kernels/matmul/engine.hpp"

namespace retrace::kernels {

const MatmulKernel* matmul_kernel(CpuLevel level, Precision precision) {
    const bool sliced = precision != Precision::f32;
    switch (level) {
        case CpuLevel::scalar: return nullptr;
        case CpuLevel::avx2: return matmul_kernel_avx2(precision);
        case CpuLevel::avxvnni: return sliced ? matmul_kernel_avxvnni(precision) : matmul_kernel_avx2(precision);
        case CpuLevel::avx512: return matmul_kernel_avx512(precision);
        case CpuLevel::vnni: return sliced ? matmul_kernel_vnni(precision) : matmul_kernel_avx512(precision);
        case CpuLevel::amx: return sliced ? matmul_kernel_amx(precision) : matmul_kernel_avx512(precision);
        case CpuLevel::neon: return matmul_kernel_neon(precision);
        case CpuLevel::dotprod: return sliced ? matmul_kernel_dotprod(precision) : matmul_kernel_neon(precision);
        case CpuLevel::i8mm: return sliced ? matmul_kernel_i8mm(precision) : matmul_kernel_neon(precision);
    }
    return nullptr;
}

namespace {

MatrixView in_memory(const MatrixView& matrix, std::vector<float>& copy) {
    if (matrix.source == nullptr) return matrix;
    copy.resize(matrix.rows * matrix.cols);
    matrix.source->fetch(matrix.source->context, 0, matrix.rows, copy.data());
    return {copy.data(), matrix.rows, matrix.cols, matrix.cols, 1};
}

}  // namespace

void matmul_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, float* c,
               std::uint64_t c_stride, ThreadPool& pool) {
    const MatmulKernel* kernel = matmul_kernel(level, precision);
    if (kernel == nullptr) {
        std::vector<float> copy_a, copy_b;
        return matmul_reference(precision, in_memory(a, copy_a), in_memory(b, copy_b), c, c_stride);
    }
    matmul_tiled(*kernel, a, b, c, c_stride, pool);
}

void matmul(Precision precision, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride,
            ThreadPool& pool) {
    matmul_at(cpu_level(), precision, a, b, c, c_stride, pool);
}

}  // namespace retrace::kernels
