// SPDX-License-Identifier: MIT
// cuBLAS as a peer of the benchmarks, loaded at run time if it is installed; none of our code computes with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/cuda/stream.hpp"

namespace retrace::bench {

/// c[m][n] = a[m][k] · b[k][n] in fp32 on the device, enqueued, with TF32 off.
using DeviceSgemm =
    std::function<void(std::uint64_t m, std::uint64_t n, std::uint64_t k, const float* a, const float* b, float* c)>;

struct CublasPeer {
    DeviceSgemm run;   ///< Empty if there is no cuBLAS.
    std::string name;  ///< Its name, or the reason why there is none.
};
CublasPeer load_cublas(kernels::cuda::Stream stream);

}  // namespace retrace::bench
