// SPDX-License-Identifier: MIT
#pragma once

struct CUstream_st;

namespace retrace::kernels::cuda {

/// cudaStream_t without its header.
using Stream = CUstream_st*;

}  // namespace retrace::kernels::cuda
