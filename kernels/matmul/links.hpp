// SPDX-License-Identifier: MIT
// Computes parts of the chains along K, for a dispute's search between the links of one tile.
#pragma once

#include "kernels/matmul/matmul.hpp"
#include "kernels/runtime/dispatch.hpp"

namespace retrace::kernels {

/// Computes blocks [first, end) of A · B, which has at most 32 rows and 32 columns and is in memory. `c` holds the
/// carried values before block `first` (not read for block 0) and receives those after block `end - 1`, in the form of
/// matmul_link: unflushed, NaN canonical. All levels give the same bits.
void matmul_links_at(CpuLevel level, Precision precision, const MatrixView& a, const MatrixView& b, std::uint64_t first,
                     std::uint64_t end, float* c, std::uint64_t c_stride);

}  // namespace retrace::kernels
