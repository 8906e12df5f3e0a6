// SPDX-License-Identifier: MIT
// Fast loops of the CPU back end. Each gives the bits of the op's element rule; a parity test compares them all.
#pragma once

#include "kernels/ops/op_call.hpp"

namespace retrace::kernels {

using CpuKernel = void (*)(const OpCall& call);

/// Gathers `count` dense rows of an fp32 window matrix, from row `first` on, from the image.
void gather_windows(const OpFacts& gather, const float* image, std::uint64_t first, std::uint64_t count, float* out);

/// Returns the fast loop of an op with these static facts; null if only the reference exists.
CpuKernel find_cpu_kernel(const OpFacts& facts);

void run_elementwise(const OpCall& call);
void run_matmul(const OpCall& call);
void run_row_reduction(const OpCall& call);
void run_column_reduction(const OpCall& call);
void run_row_argmax(const OpCall& call);
void run_row_top(const OpCall& call);
void run_row_pick(const OpCall& call);
void run_row_add_at(const OpCall& call);
void run_gather_rows(const OpCall& call);
void run_scatter_add_rows(const OpCall& call);
void run_put_rows(const OpCall& call);
void run_reshape(const OpCall& call);
void run_permute(const OpCall& call);
void run_slice(const OpCall& call);
void run_concat(const OpCall& call);
void run_pad(const OpCall& call);
void run_window_gather(const OpCall& call);
void run_window_scatter(const OpCall& call);
void run_fill(const OpCall& call);
void run_fill_bits(const OpCall& call, std::uint32_t bits);  ///< Sets every element of the output.
void run_philox(const OpCall& call);
void run_batch_index(const OpCall& call);
void run_chacha(const OpCall& call);

}  // namespace retrace::kernels
