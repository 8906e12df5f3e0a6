// SPDX-License-Identifier: MIT
#include "kernels/matmul/matmul.hpp"

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/matmul_shape.hpp"

namespace retrace::kernels {

void run_matmul(const OpCall& call) {
    const MatmulShape s = matmul_shape(call.facts);
    for (std::uint64_t i = 0; i < s.batch; ++i) {
        MatrixView a{call.in<float>(0) + i * s.m * s.k, s.m, s.k, s.k, 1};
        MatrixView b{call.in<float>(1) + i * s.k * s.n, s.k, s.n, s.n, 1};
        if (s.transposed_a) a.row_stride = 1, a.col_stride = s.m;
        if (s.transposed_b) b.row_stride = 1, b.col_stride = s.k;
        matmul(s.precision, a, b, call.out<float>() + i * s.m * s.n, s.n, call.pool);
    }
}

}  // namespace retrace::kernels
