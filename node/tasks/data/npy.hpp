// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/runtime/tensor.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// A NumPy array file (numpy.lib.format 1.0 to 3.0): little endian, C order, rank ≤ 6. f4, u1, i1, i4 and b1
/// as they are; f8 rounded to fp32; u2, i2, u4 and i8 narrowed to int32, out of range is an error. Object
/// arrays hold pickles: refused, as is every other type.
Result<kernels::Tensor> decode_npy(View file);

}  // namespace retrace::node
