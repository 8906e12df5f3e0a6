// SPDX-License-Identifier: MIT
// Parts of the chains along K, for a dispute's search between the links of one tile.
#pragma once

#include "kernels/matmul/matmul.hpp"
#include "kernels/runtime/dispatch.hpp"

namespace retrace::kernels {

/// Blocks [first, end) of A · B, which has at most 32 rows and 32 columns and lies in memory: `c` holds the
/// carried values before block `first` (not read for block 0) and then those after block `end - 1`, as
/// matmul_link gives them: unflushed, NaN canonical. Equal bits at every level.
void matmul_links_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b,
                     std::uint64_t first, std::uint64_t end, float* c, std::uint64_t c_stride);

}  // namespace retrace::kernels
