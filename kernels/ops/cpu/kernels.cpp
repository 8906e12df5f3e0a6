// SPDX-License-Identifier: MIT
#include "kernels/ops/cpu/kernels.hpp"

#include "kernels/ops/op.hpp"

namespace retrace::kernels {

CpuKernel find_cpu_kernel(const OpFacts& facts) {
    const OpCode code = facts.op.code;
    if (is_elementwise(code)) return run_elementwise;
    switch (code) {
        case OpCode::matmul: return run_matmul;
        case OpCode::row_sum:
        case OpCode::row_max: return run_row_reduction;
        case OpCode::col_sum:
        case OpCode::col_max: return run_column_reduction;
        case OpCode::row_argmax:
        case OpCode::row_argmax_pick: return run_row_argmax;
        case OpCode::row_top: return run_row_top;
        case OpCode::row_pick: return run_row_pick;
        case OpCode::row_add_at: return run_row_add_at;
        case OpCode::gather_rows: return run_gather_rows;
        case OpCode::scatter_add_rows: return run_scatter_add_rows;
        case OpCode::put_rows: return run_put_rows;
        case OpCode::reshape: return run_reshape;
        case OpCode::permute: return run_permute;
        case OpCode::slice: return run_slice;
        case OpCode::concat: return run_concat;
        case OpCode::pad: return run_pad;
        case OpCode::window_gather: return run_window_gather;
        case OpCode::window_scatter: return run_window_scatter;
        case OpCode::fill: return run_fill;
        case OpCode::philox_uniform:
        case OpCode::philox_normal: return run_philox;
        case OpCode::batch_index: return run_batch_index;
        case OpCode::chacha_bits: return run_chacha;
        default: return nullptr;
    }
}

}  // namespace retrace::kernels
