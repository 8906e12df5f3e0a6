// SPDX-License-Identifier: MIT
// Ordinary fp32 products with which ours are compared. The libraries choose their instruction set when they are loaded:
// OPENBLAS_CORETYPE and ONEDNN_MAX_CPU_ISA must be in the environment of the process.
#pragma once

#include <cstdint>
#include <string>

namespace retrace::bench {

/// C[m][n] = A[m][k] · B[k][n], all row-major and dense.
using Sgemm = void (*)(std::uint64_t m, std::uint64_t n, std::uint64_t k, const float* a, const float* b, float* c);

struct SgemmPeer {
    std::string name;
    Sgemm run;
};

SgemmPeer openblas();
SgemmPeer onednn();

}  // namespace retrace::bench
