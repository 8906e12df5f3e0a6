// SPDX-License-Identifier: MIT
#include <cblas.h>

#include "tests/bench/peers/sgemm.hpp"

namespace retrace::bench {

SgemmPeer openblas() {
    const Sgemm run = [](std::uint64_t m, std::uint64_t n, std::uint64_t k, const float* a, const float* b, float* c) {
        const auto size = [](std::uint64_t x) { return static_cast<blasint>(x); };
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1.0f, a, size(k), b, size(n),
                    0.0f, c, size(n));
    };
    return {std::string("OpenBLAS ") + openblas_get_corename(), run};
}

}  // namespace retrace::bench
