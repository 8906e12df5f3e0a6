// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/runtime/tensor.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Decodes a NumPy array file (numpy.lib.format 1.0 to 3.0): little endian, C order, rank ≤ 6. f4, u1, i1, i4 and b1
/// are kept; f8 is rounded to fp32; u2, i2, u4 and i8 are narrowed to int32, and a value out of range is an error.
/// Object arrays hold pickles: they are refused, as is every other type.
Result<kernels::Tensor> decode_npy(View file);

}  // namespace retrace::node
